// Positions as numbers: Fourier features, and the sinusoidal encoding of the first transformer
// (Vaswani et al. 2017). With sines, cosines and powers of the library's own, so that they have the
// same bits on every machine (docs/arithmetic.md).
//
//   qkv::Tensor code = qkv::sinusoidal_positions(0, 512, 64);  // added to 512 tokens of size 64
#ifndef QKV_POSITIONS_H_
#define QKV_POSITIONS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/error.h"
#include "qkv/tensor.h"

namespace qkv {

// base^(-2 i / d) for i = 0, 1, ..., as many as d has columns in pairs: (d + 1) / 2. To less than
// 1 ulp. d is 1 to 2^53, base finite and at least 1.
std::vector<double> sinusoidal_frequencies(std::int64_t d, double base = 10000);

// Row n of `out` is sin(x_n f_0), cos(x_n f_0), sin(x_n f_1), cos(x_n f_1), ... : float32
// [x, 2 frequencies], any strides, or without the last cosine [x, 2 frequencies - 1]. The angle is
// the product in double, rounded; its sine and cosine, to less than 1 ulp of double however large
// it is, are rounded to float32. x and frequencies must be finite, and so must their products.
void fourier_features(std::span<const double> x, std::span<const double> frequencies,
                      const MutableTensorView& out);

// The features of the positions first, first + 1, ... with sinusoidal_frequencies(d, base): float32
// [count, d]. Positions lie between -2^53 and 2^53.
Tensor sinusoidal_positions(std::int64_t first, std::int64_t count, std::int64_t d,
                            double base = 10000);

}  // namespace qkv

#endif  // QKV_POSITIONS_H_
