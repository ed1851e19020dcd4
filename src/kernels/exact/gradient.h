// Which bits are right in a backward pass: docs/arithmetic.md in code, pair by pair. No tiles, no
// SIMD, never tuned; every gradient kernel equals it by memcmp.
#ifndef QKV_KERNELS_EXACT_GRADIENT_H_
#define QKV_KERNELS_EXACT_GRADIENT_H_

#include "problem/gradient_problem.h"

namespace qkv::exact {

// Fills all gradients that are present. The problem is validated and not float64; forward results
// that it lacks are computed.
void gradients(const GradientProblem& g);

}  // namespace qkv::exact

#endif  // QKV_KERNELS_EXACT_GRADIENT_H_
