// What layers need of an instruction set beside products and attention: functions of every number,
// rows that are normalised, and rows whose pairs are turned. docs/arithmetic.md has the formulas
// and the order of sums.
#ifndef QKV_KERNELS_LAYERS_KERNEL_H_
#define QKV_KERNELS_LAYERS_KERNEL_H_

#include <cstdint>

#include "qkv/cpu.h"

namespace qkv {

struct LayerKernel {
  Isa isa;

  // y = f(x) of `count` numbers, and d_x += d_y f'(x).
  void (*gelu)(const float* x, std::int64_t count, float* y);
  void (*gelu_gradient)(const float* x, const float* d_y, std::int64_t count, float* d_x);
  void (*silu)(const float* x, std::int64_t count, float* y);
  void (*silu_gradient)(const float* x, const float* d_y, std::int64_t count, float* d_x);

  // Rows of d numbers: (x - mean) / sqrt(mean square of that + epsilon), with `center`; without, x
  // / sqrt(mean square + epsilon). `factors` [rows] keeps 1 / sqrt(...).
  void (*normalize)(const float* x, std::int64_t rows, std::int64_t d, bool center, float epsilon,
                    float* y, float* factors);
  // d_x += the gradient, from what normalize() gave.
  void (*normalize_gradient)(const float* y, const float* factors, const float* d_y,
                             std::int64_t rows, std::int64_t d, bool center, float* d_x);

  // Softmax of each row of `classes` logits, in place of `probabilities`, and the logarithm of its
  // sum of exponentials: [rows].
  void (*softmax)(const float* logits, std::int64_t rows, std::int64_t classes,
                  float* probabilities, double* lse);

  // y_c = fma(x_partner, sines_c, x_c * cosines_c), canonical, for a row of d numbers, an even d.
  // The partner of c is its neighbour in (2 n, 2 n + 1) with `interleaved`, else d / 2 away. y may
  // be x.
  void (*rotate)(const float* x, const float* cosines, const float* sines, std::int64_t d,
                 bool interleaved, float* y);
};

}  // namespace qkv

#endif  // QKV_KERNELS_LAYERS_KERNEL_H_
