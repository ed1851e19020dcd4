// Tangents of attention and of its gradients: how they change as their inputs move along given
// directions. Forward-mode derivatives, which answer what gradients (qkv/gradient.h) can't without
// one call for each output: Jacobian-vector products, and with those of the gradients
// Hessian-vector products.
//
//   qkv::GradientInputs inputs;
//   inputs.query = q;  inputs.key = k;  inputs.value = v;  inputs.d_out = d_out;
//   qkv::Tangents tangents;
//   tangents.query = q_dot;  tangents.value = v_dot;           // absent ones are zeros
//   qkv::Tensor out_dot = qkv::attention_tangents(inputs, tangents, options);
//   // d/dt of d_query, d_key, d_value at q + t q_dot, v + t v_dot:
//   qkv::AttentionGradients h = qkv::attention_gradient_tangents(inputs, tangents, options);
//
// O(n) memory, and the same bits on any number of threads and any instruction set. With s the final
// scores of a row, w = softmax(s) over its live keys (and the sink), a dot for a tangent, D =
// dot(d_out, out) and g_ij = dot(d_out_i, v_j) - D_i + d_lse_i:
//   s.  = scale (q. k + q k.), through the derivatives of softcap and score_mod, + bias.
//   lse. = sum of w s.            w. = w (s. - lse.)         out. = sum of w. v + w v.
//   ds. = w. g + w g.,            g. = d_out. v + d_out v. - D. + d_lse.
// and d_query. = scale sum of (ds. k + ds k.), the others likewise.
#ifndef QKV_TANGENT_H_
#define QKV_TANGENT_H_

#include "qkv/gradient.h"

namespace qkv {

// Directions. Each in the shape of what moves, a floating type (float64 if and only if the inputs
// are), any strides. Absent: zeros, and quicker than those.
struct Tangents {
  TensorView query, key, value;
  TensorView bias;          // of AttentionOptions: in its shape, not broadcast further
  TensorView sinks;         // [Hq]
  TensorView d_out, d_lse;  // of the gradients' inputs; not read for tangents of attention
};

struct TangentOutputs {   // each may be absent
  MutableTensorView out;  // as AttentionOutputs::out
  MutableTensorView lse;  // as AttentionOutputs::lse, but 0 for a row without keys
};

// The tangents of out and LSE, into the caller's memory. Of `inputs`, d_out and d_lse are not read.
// With a score_mod, score_mod_gradient must be given too. Rows that see no key have 0. Throws
// InvalidArgument (nothing was computed), Unsupported, OutOfMemory, Cancelled, or what a callback
// threw.
void attention_tangents(const GradientInputs& inputs, const Tangents& tangents,
                        const TangentOutputs& outputs, const AttentionOptions& options = {},
                        const ExecutionOptions& execution = {});

// Computes and returns the tangent of out, in query's type.
Tensor attention_tangents(const GradientInputs& inputs, const Tangents& tangents,
                          const AttentionOptions& options = {},
                          const ExecutionOptions& execution = {});

// The tangents of the gradients that attention_gradients() would write to `outputs`, in their
// places. With d_out and its tangent fixed by a loss, this is the loss's Hessian times `tangents`.
// Throws as attention_tangents(), and Unsupported for a score_mod, whose second derivative nobody
// gives.
void attention_gradient_tangents(const GradientInputs& inputs, const Tangents& tangents,
                                 const GradientOutputs& outputs,
                                 const AttentionOptions& options = {},
                                 const ExecutionOptions& execution = {});

// Computes and returns those of d_query, d_key and d_value.
AttentionGradients attention_gradient_tangents(const GradientInputs& inputs,
                                               const Tangents& tangents,
                                               const AttentionOptions& options = {},
                                               const ExecutionOptions& execution = {});

}  // namespace qkv

#endif  // QKV_TANGENT_H_
