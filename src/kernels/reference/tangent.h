// What is right: tangents of attention and of its gradients by the textbook formula, pair by pair
// in plain loops. The tests' yardstick, and the kernel of float64 problems. Never tuned.
#ifndef QKV_KERNELS_REFERENCE_TANGENT_H_
#define QKV_KERNELS_REFERENCE_TANGENT_H_

#include <cstdint>
#include <span>

#include "kernels/reference/gradient.h"
#include "problem/tangent_problem.h"

namespace qkv::reference {

// Numbers of scratch memory that a key head needs.
std::size_t tangent_scratch(const TangentProblem& t);

// The tangents of one key head of one sequence and of the query heads that read it, all results
// that are present. Those of d_bias and d_sinks are added to; the caller clears them before the
// first head, and calls by rising sequence and head.
void key_head_tangents(const TangentProblem& t, const Sequence& sequence, std::int64_t key_head,
                       std::span<double> scratch);

// The largest sum of magnitudes that a result is made of, over all its elements: what rounding in
// float32 is a share of.
struct LargestTangents {
  double out = 0, lse = 0, d_query = 0, d_key = 0, d_value = 0, d_bias = 0, d_sinks = 0;
};

// The whole problem, forward pass included: nothing of its results is read.
void tangents(const TangentProblem& t, const ScoreMods64& mods = {},
              LargestTangents* largest = nullptr);

// The same formula in float32, left to right without fma: what a plain program gets, for the
// accuracy yardstick.
void tangents_plain_float(const TangentProblem& t, const ScoreMods64& mods = {});

}  // namespace qkv::reference

#endif  // QKV_KERNELS_REFERENCE_TANGENT_H_
