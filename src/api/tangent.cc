#include "qkv/tangent.h"

#include <memory>
#include <utility>

#include "api/callbacks.h"
#include "api/gradient.h"
#include "plan/tangent_plan.h"

namespace qkv {
namespace {

void run(TangentProblem problem, const AttentionOptions& options,
         const ExecutionOptions& execution) {
  CallbackGuard callbacks;
  AttentionOptions guarded_options = options;
  ExecutionOptions guarded_execution = execution;
  callbacks.wrap(guarded_options);
  callbacks.wrap(guarded_execution);
  std::unique_ptr<TangentPlan> plan;
  throw_if_error(TangentPlan::make(std::move(problem), guarded_options, guarded_execution, plan));
  callbacks.reset();
  const Status status = plan->run(callbacks.stop());
  callbacks.rethrow();
  throw_if_error(status);
}

}  // namespace

void attention_tangents(const GradientInputs& inputs, const Tangents& tangents,
                        const TangentOutputs& outputs, const AttentionOptions& options,
                        const ExecutionOptions& execution) {
  TangentProblem problem;
  problem.gradient.inputs = inputs;
  problem.gradient.inputs.d_out = problem.gradient.inputs.d_lse = TensorView();
  problem.inputs = tangents;
  problem.inputs.d_out = problem.inputs.d_lse = TensorView();
  problem.outputs = outputs;
  run(std::move(problem), options, execution);
}

Tensor attention_tangents(const GradientInputs& inputs, const Tangents& tangents,
                          const AttentionOptions& options, const ExecutionOptions& execution) {
  const AttentionInputs forward{inputs.query, inputs.key, inputs.value};
  Tensor out;
  throw_if_error(allocate(inputs.query.dtype, output_shape(forward, options), out));
  TangentOutputs outputs;
  outputs.out = out;
  attention_tangents(inputs, tangents, outputs, options, execution);
  return out;
}

void attention_gradient_tangents(const GradientInputs& inputs, const Tangents& tangents,
                                 const GradientOutputs& outputs, const AttentionOptions& options,
                                 const ExecutionOptions& execution) {
  TangentProblem problem;
  problem.gradient.inputs = inputs;
  problem.gradient.outputs = outputs;
  problem.inputs = tangents;
  run(std::move(problem), options, execution);
}

AttentionGradients attention_gradient_tangents(const GradientInputs& inputs,
                                               const Tangents& tangents,
                                               const AttentionOptions& options,
                                               const ExecutionOptions& execution) {
  AttentionGradients gradients = zero_gradients(inputs);
  GradientOutputs outputs;
  outputs.d_query = gradients.d_query;
  outputs.d_key = gradients.d_key;
  outputs.d_value = gradients.d_value;
  attention_gradient_tangents(inputs, tangents, outputs, options, execution);
  return gradients;
}

}  // namespace qkv
