// Positions as numbers, checked and written.
#ifndef QKV_POSITIONS_POSITIONS_H_
#define QKV_POSITIONS_POSITIONS_H_

#include <cstdint>
#include <span>

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv {

Status check_frequencies(std::int64_t d, double base);

// `frequencies` must have (d + 1) / 2 places.
Status fill_frequencies(std::int64_t d, double base, std::span<double> frequencies);

Status fill_fourier_features(std::span<const double> x, std::span<const double> frequencies,
                             const MutableTensorView& out);

// count and d are those of `out`, float32 [count, d].
Status fill_sinusoidal_positions(std::int64_t first, double base, const MutableTensorView& out);

}  // namespace qkv

#endif  // QKV_POSITIONS_POSITIONS_H_
