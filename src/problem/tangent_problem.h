// What is asked of tangents, in one normal form, after validate() found it good.
#ifndef QKV_PROBLEM_TANGENT_PROBLEM_H_
#define QKV_PROBLEM_TANGENT_PROBLEM_H_

#include "problem/gradient_problem.h"
#include "qkv/tangent.h"

namespace qkv {

struct TangentProblem {
  // The gradients whose tangents are asked for, with the places of these tangents as its results;
  // for tangents of attention, without results. `inputs` and `outputs` are as the caller gave them.
  GradientProblem gradient;
  // As the caller gave them.
  Tangents inputs;
  TangentOutputs outputs;

  // Filled by validate(). All rank 4; absent tensors stay absent, which stands for zeros.
  TensorView query, key, value;  // like those of the forward problem
  TensorView bias;               // broadcast to [B, Hq, Lq, Lk] by strides of 0
  TensorView d_out, d_lse;       // [B, Hq, Lq, d_v], [B, Hq, Lq, 1]
  TensorView sinks;              // [Hq]
  MutableTensorView out, lse;    // [B, Hq, Lq, d_v], [B, Hq, Lq, 1]

  bool of_gradients() const {
    const GradientProblem& g = gradient;
    return g.d_query.defined() || g.d_key.defined() || g.d_value.defined() || g.d_bias.defined() ||
           g.d_sinks.defined();
  }
};

// Checks everything and fills the normal form. Nothing is computed or written.
Status validate(TangentProblem& problem, const AttentionOptions& options);

// 0 in all results that no live query or key has.
void clear_dead_rows(const TangentProblem& problem);

}  // namespace qkv

#endif  // QKV_PROBLEM_TANGENT_PROBLEM_H_
