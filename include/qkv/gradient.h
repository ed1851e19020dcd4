// Gradients of attention: what a change of each input does to a loss, from dLoss/dout.
//
//   qkv::GradientInputs inputs;
//   inputs.query = q;  inputs.key = k;  inputs.value = v;  inputs.d_out = d_out;
//   qkv::AttentionGradients g = qkv::attention_gradients(inputs, options);
//   // g.d_query, g.d_key, g.d_value
//
// Recomputed block by block (Dao et al. 2022): five products for each block of scores, O(n) memory,
// no n x n table. Deterministic: the same bits on any number of threads and any instruction set.
// With s the final scores of a row, w = softmax(s) over its live keys (and the sink), and D =
// dot(d_out, out):
//   d_value_j += w_ij d_out_i          ds_ij = w_ij (dot(d_out_i, v_j) - D_i + d_lse_i)
//   d_query_i += scale ds_ij k_j       d_key_j += scale ds_ij q_i       d_bias_ij = ds_ij
// where ds also passes back through score_mod and softcap on its way to d_query and d_key.
#ifndef QKV_GRADIENT_H_
#define QKV_GRADIENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "qkv/attention.h"

namespace qkv {

struct GradientInputs {
  TensorView query, key, value;  // those of the forward call, as it had them

  // dLoss/dout, in out's shape and a floating type; any strides, 0 too. Absent: zeros.
  TensorView d_out;
  // dLoss/dLSE, in lse's shape, float32. Absent: zeros.
  TensorView d_lse;

  // What the forward call gave, in float32 (float64 for float64 inputs, which don't read it): out,
  // row_max and row_sum. Give all three, or none: then they are computed again, at the price of two
  // more products.
  TensorView out, row_max, row_sum;
  // In place of row_max and row_sum, if these were not kept. Weights are then exp(s - lse), whose
  // relative error grows with the scores (4e-4 at scores of 1e4), so the bits are others.
  TensorView lse;
};

// Each may be absent. None may overlap an input or another one.
struct GradientOutputs {
  // In the shapes of query, key and value; float32 or a type of the inputs. Rows and keys that no
  // live pair has get 0.
  MutableTensorView d_query, d_key, d_value;
  // In the shape of the bias (AttentionOptions), float32: summed over the dimensions in which the
  // bias was broadcast. Hidden pairs have 0.
  MutableTensorView d_bias;
  MutableTensorView d_sinks;  // [Hq] float32
};

// Computes into the caller's memory. `options` are those of the forward call; with a score_mod,
// score_mod_gradient must be given too. Throws InvalidArgument (nothing was computed), Unsupported,
// OutOfMemory, Cancelled, or what a callback threw.
void attention_gradients(const GradientInputs& inputs, const GradientOutputs& outputs,
                         const AttentionOptions& options = {},
                         const ExecutionOptions& execution = {});

struct AttentionGradients {
  Tensor d_query, d_key, d_value;  // row-major, in the types of query, key and value
};

// Computes and returns the three that every training needs.
AttentionGradients attention_gradients(const GradientInputs& inputs,
                                       const AttentionOptions& options = {},
                                       const ExecutionOptions& execution = {});

// Gradients planned once and run many times: the second run allocates nothing.
class GradientPlan {
 public:
  // Validates and plans. Copies the options; the tensors' memory must live for run().
  GradientPlan(const GradientInputs& inputs, const GradientOutputs& outputs,
               const AttentionOptions& options = {}, const ExecutionOptions& execution = {});
  ~GradientPlan();
  GradientPlan(GradientPlan&&) noexcept;
  GradientPlan& operator=(GradientPlan&&) noexcept;

  const PlanDescription& description() const;

  // Runs on the tensors given at planning. Not from two threads at once on one plan.
  void run();
  // The same with a workspace of the caller's, of at least description().workspace_bytes (else
  // InvalidArgument). Any alignment.
  void run(std::span<std::byte> workspace);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace qkv

#endif  // QKV_GRADIENT_H_
