// What is asked of a backward pass, in one normal form, after validate() found it good.
#ifndef QKV_PROBLEM_GRADIENT_PROBLEM_H_
#define QKV_PROBLEM_GRADIENT_PROBLEM_H_

#include <cstdint>
#include <vector>

#include "problem/checks.h"
#include "problem/problem.h"
#include "qkv/gradient.h"

namespace qkv {

struct GradientProblem {
  // As the caller gave it.
  GradientInputs inputs;
  GradientOutputs outputs;

  // Filled by validate(): the forward problem without outputs, and views of rank 4.
  Problem forward;
  TensorView d_out;             // [B, Hq, Lq, d_v]; absent in the call: zeros, with strides of 0
  TensorView d_lse;             // [B, Hq, Lq, 1]; likewise
  TensorView out;               // [B, Hq, Lq, d_v] float32; absent if it is to be computed again
  TensorView row_max, row_sum;  // [B, Hq, Lq, 1], present with out; lse and absent if lse was given
  MutableTensorView d_query, d_key, d_value;
  MutableTensorView d_bias;   // broadcast to [B, Hq, Lq, Lk] by strides of 0
  MutableTensorView d_sinks;  // [Hq]

  bool has_forward_results() const { return out.defined(); }
};

// Checks everything and fills the normal form from inputs, outputs and options. Nothing is computed
// or written.
Status validate(GradientProblem& problem, const AttentionOptions& options);

// The part of validate() that depends on addresses.
Status validate_memory(const GradientProblem& problem);

// 0 in all of d_bias and d_sinks, which are added to pair by pair.
void clear_sums(const GradientProblem& problem);

// 0 in rows [begin, end) of all heads of one batch entry, if the view is there.
void clear_rows(const MutableTensorView& view, std::int64_t b, std::int64_t begin,
                std::int64_t end);

// 0 in the rows of d_query, d_key and d_value beyond the live queries and keys of each sequence.
void clear_dead_rows(const GradientProblem& problem);

// The shape that an output of the forward call has: out's, or without its last dimension.
std::vector<std::int64_t> shape_of_out(const Problem& p);
std::vector<std::int64_t> shape_of_lse(const Problem& p);

// [total, heads, d] of packed sequences becomes [1, heads, total, d].
template <class View>
View normal_rows(const View& view, const Problem& p) {
  return to_rank4(p.packed() ? view.transposed(0, 1) : view);
}

}  // namespace qkv

#endif  // QKV_PROBLEM_GRADIENT_PROBLEM_H_
