#include "qkv/attention.h"

#include "api/callbacks.h"
#include "plan/plan.h"

namespace qkv {

struct AttentionPlan::Impl {
  CallbackGuard callbacks;
  std::unique_ptr<Plan> plan;

  template <class Run>
  void run(const Run& run) {
    callbacks.reset();
    const Status status = run(callbacks.stop());
    callbacks.rethrow();
    throw_if_error(status);
  }
  void run(std::span<std::byte> workspace) {
    run([&](const std::atomic<bool>* stop) { return plan->run(workspace, stop); });
  }
};

AttentionPlan::AttentionPlan(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                             const AttentionOptions& options, const ExecutionOptions& execution)
    : impl_(std::make_unique<Impl>()) {
  AttentionOptions guarded_options = options;
  ExecutionOptions guarded_execution = execution;
  impl_->callbacks.wrap(guarded_options);
  impl_->callbacks.wrap(guarded_execution);
  throw_if_error(Plan::make(inputs, outputs, guarded_options, guarded_execution, impl_->plan));
}

AttentionPlan::~AttentionPlan() = default;
AttentionPlan::AttentionPlan(AttentionPlan&&) noexcept = default;
AttentionPlan& AttentionPlan::operator=(AttentionPlan&&) noexcept = default;

const PlanDescription& AttentionPlan::description() const { return impl_->plan->description(); }

void AttentionPlan::run() { impl_->run({}); }

void AttentionPlan::run(std::span<std::byte> workspace) {
  if (workspace.data() == nullptr) throw InvalidArgument("workspace: null pointer; pass memory");
  impl_->run(workspace);
}

void AttentionPlan::run(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                        std::span<std::byte> workspace) {
  impl_->run([&](const std::atomic<bool>* stop) {
    return impl_->plan->run_on(inputs, outputs, workspace, stop);
  });
}

std::vector<std::int64_t> output_shape(const AttentionInputs& inputs,
                                       const AttentionOptions& options) {
  std::vector<std::int64_t> shape;
  throw_if_error(infer_output_shape(inputs, options, shape));
  return shape;
}

void attention(const AttentionInputs& inputs, const AttentionOutputs& outputs,
               const AttentionOptions& options, const ExecutionOptions& execution) {
  AttentionPlan(inputs, outputs, options, execution).run();
}

Tensor attention(const AttentionInputs& inputs, const AttentionOptions& options,
                 const ExecutionOptions& execution) {
  Tensor out;
  throw_if_error(allocate(inputs.query.dtype, output_shape(inputs, options), out));
  AttentionOutputs outputs;
  outputs.out = out;
  attention(inputs, outputs, options, execution);
  return out;
}

}  // namespace qkv
