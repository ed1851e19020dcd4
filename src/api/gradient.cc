#include "qkv/gradient.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "api/callbacks.h"
#include "api/gradient.h"
#include "plan/gradient_plan.h"
#include "problem/checks.h"

namespace qkv {

struct GradientPlan::Impl {
  CallbackGuard callbacks;
  std::unique_ptr<BackwardPlan> plan;

  void run(std::span<std::byte> workspace) {
    callbacks.reset();
    const Status status = plan->run(workspace, callbacks.stop());
    callbacks.rethrow();
    throw_if_error(status);
  }
};

GradientPlan::GradientPlan(const GradientInputs& inputs, const GradientOutputs& outputs,
                           const AttentionOptions& options, const ExecutionOptions& execution)
    : impl_(std::make_unique<Impl>()) {
  AttentionOptions guarded_options = options;
  ExecutionOptions guarded_execution = execution;
  impl_->callbacks.wrap(guarded_options);
  impl_->callbacks.wrap(guarded_execution);
  throw_if_error(
      BackwardPlan::make(inputs, outputs, guarded_options, guarded_execution, impl_->plan));
}

GradientPlan::~GradientPlan() = default;
GradientPlan::GradientPlan(GradientPlan&&) noexcept = default;
GradientPlan& GradientPlan::operator=(GradientPlan&&) noexcept = default;

const PlanDescription& GradientPlan::description() const { return impl_->plan->description(); }

void GradientPlan::run() { impl_->run({}); }

void GradientPlan::run(std::span<std::byte> workspace) {
  if (workspace.data() == nullptr) throw InvalidArgument("workspace: null pointer; pass memory");
  impl_->run(workspace);
}

void attention_gradients(const GradientInputs& inputs, const GradientOutputs& outputs,
                         const AttentionOptions& options, const ExecutionOptions& execution) {
  GradientPlan(inputs, outputs, options, execution).run();
}

AttentionGradients zero_gradients(const GradientInputs& inputs) {
  AttentionGradients gradients;
  const std::tuple<const char*, const TensorView*, Tensor*> all[] = {
      {"query", &inputs.query, &gradients.d_query},
      {"key", &inputs.key, &gradients.d_key},
      {"value", &inputs.value, &gradients.d_value}};
  for (const auto& [name, like, tensor] : all) {
    throw_if_error(check_view(name, *like));
    const std::span<const std::int64_t> shape(
        like->extents.data(), static_cast<std::size_t>(std::clamp(like->rank, 0, kMaxRank)));
    throw_if_error(allocate(like->dtype, shape, *tensor));
  }
  return gradients;
}

AttentionGradients attention_gradients(const GradientInputs& inputs,
                                       const AttentionOptions& options,
                                       const ExecutionOptions& execution) {
  AttentionGradients gradients = zero_gradients(inputs);
  GradientOutputs outputs;
  outputs.d_query = gradients.d_query;
  outputs.d_key = gradients.d_key;
  outputs.d_value = gradients.d_value;
  attention_gradients(inputs, outputs, options, execution);
  return gradients;
}

}  // namespace qkv
