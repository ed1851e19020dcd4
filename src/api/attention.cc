#include "qkv/attention.h"

#include "api/callbacks.h"
#include "plan/plan.h"
#include "simd/float_environment.h"

namespace qkv {

struct AttentionPlan::Impl {
  CallbackGuard callbacks;
  std::unique_ptr<Plan> plan;

  void run(std::span<std::byte> workspace) {
    callbacks.reset();
    const Status status = plan->run(workspace, callbacks.stop());
    callbacks.rethrow();
    throw_if_error(status);
  }
};

AttentionPlan::AttentionPlan(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                             const AttentionOptions& options, const ExecutionOptions& execution)
    : impl_(std::make_unique<Impl>()) {
  // The scale is a rounded number too: the caller's rounding mode must not reach it.
  const FloatEnvironment environment;
  Problem problem;
  problem.inputs = inputs;
  problem.outputs = outputs;
  problem.options = options;
  throw_if_error(validate(problem));
  ExecutionOptions guarded = execution;
  impl_->callbacks.wrap(problem.options);
  impl_->callbacks.wrap(guarded);
  throw_if_error(Plan::make(std::move(problem), guarded, impl_->plan));
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
  // run() alone stands for the planned tensors: they come back whatever happens.
  struct Planned {
    ~Planned() { set_memory(problem, memory); }
    Problem& problem;
    Memory memory;
  };
  Problem& problem = impl_->plan->problem();
  const Planned planned{problem, memory_of(problem)};
  throw_if_error(rebind(problem, inputs, outputs));
  impl_->run(workspace);
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
