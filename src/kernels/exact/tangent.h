// Which bits tangents have: docs/arithmetic.md in code, pair by pair. No tiles, no SIMD, never
// tuned; every tangent kernel equals it by memcmp.
#ifndef QKV_KERNELS_EXACT_TANGENT_H_
#define QKV_KERNELS_EXACT_TANGENT_H_

#include "problem/tangent_problem.h"

namespace qkv::exact {

// Fills all results that are present. The problem is validated and not float64; forward results
// that it lacks are computed.
void tangents(const TangentProblem& t);

}  // namespace qkv::exact

#endif  // QKV_KERNELS_EXACT_TANGENT_H_
