// What is right: gradients of attention by the textbook formula, pair by pair in plain loops. The
// tests' yardstick, and the kernel of float64 problems. Never tuned.
#ifndef QKV_KERNELS_REFERENCE_GRADIENT_H_
#define QKV_KERNELS_REFERENCE_GRADIENT_H_

#include <cstdint>
#include <span>

#include "kernels/reference/reference.h"
#include "problem/gradient_problem.h"

namespace qkv::reference {

// The double-precision forms of a problem's score_mod and of its derivative, for tests.
struct ScoreMods64 {
  ScoreMod64 score_mod, derivative;
};

// Numbers of scratch memory that a key head needs.
std::size_t gradient_scratch(const GradientProblem& g);

// The gradients of one key head of one sequence and of the query heads that read it, all results
// that are present. d_bias and d_sinks are added to; the caller clears them before the first head,
// and calls by rising sequence and head.
void key_head_gradients(const GradientProblem& g, const Sequence& sequence, std::int64_t key_head,
                        std::span<double> scratch);

// The largest magnitude that a sum has on its way, over all elements of a result, those of
// dot(d_out, v) and dot(d_out, out) inside it included: what rounding in float32 is a share of.
struct LargestSums {
  double d_query = 0, d_key = 0, d_value = 0, d_bias = 0, d_sinks = 0;
};

// The whole problem, forward pass included: nothing of its results is read.
void gradients(const GradientProblem& g, const ScoreMods64& mods = {},
               LargestSums* largest = nullptr);

// The same formula in float32, left to right without fma: what a plain program gets, for the
// accuracy yardstick.
void gradients_plain_float(const GradientProblem& g, const ScoreMods64& mods = {});

}  // namespace qkv::reference

#endif  // QKV_KERNELS_REFERENCE_GRADIENT_H_
