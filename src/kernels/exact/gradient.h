// Which bits are right in a backward pass: docs/arithmetic.md in code, pair by pair. No tiles, no
// SIMD, never tuned; every gradient kernel equals it by memcmp.
#ifndef QKV_KERNELS_EXACT_GRADIENT_H_
#define QKV_KERNELS_EXACT_GRADIENT_H_

#include "kernels/exact/tree_sum.h"
#include "problem/gradient_problem.h"

namespace qkv::exact {

// What the forward pass leaves of a row: from the problem's results, or computed.
struct ForwardRow {
  float m, l;  // of its softmax, sink included
  Sums out;    // [d_v], with dropout's factor
};
ForwardRow forward_row(const GradientProblem& g, const Sequence& s, std::int64_t head,
                       std::int64_t i);

// Leads the gradient, or the tangent, of what score_mod returns for a pair back, or on, through
// its derivative.
float through_score_mod(const Pair& at, float capped_score, float gradient);

// Fills all gradients that are present. The problem is validated and not float64; forward results
// that it lacks are computed.
void gradients(const GradientProblem& g);

}  // namespace qkv::exact

#endif  // QKV_KERNELS_EXACT_GRADIENT_H_
