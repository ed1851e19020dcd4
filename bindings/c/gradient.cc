#include <memory>

#include "boundary.h"
#include "convert.h"
#include "plan/gradient_plan.h"
#include "structs.h"

using qkv::Status;
using namespace qkv::c;

struct qkv_gradient_plan {
  CallbackRecord callbacks;
  std::unique_ptr<qkv::BackwardPlan> plan;
};

namespace {

Status make_plan(const qkv_gradient_inputs* inputs, const qkv_gradient_outputs* outputs,
                 const qkv_attention_options* options, const qkv_execution* execution,
                 qkv_gradient_plan& made) {
  qkv::GradientInputs in;
  qkv::GradientOutputs out;
  qkv::AttentionOptions what;
  qkv::ExecutionOptions how;
  if (Status s = to_gradient_inputs(inputs, in); !s.ok()) return s;
  if (Status s = to_gradient_outputs(outputs, out); !s.ok()) return s;
  if (Status s = to_options(options, made.callbacks, what); !s.ok()) return s;
  if (Status s = to_execution(execution, made.callbacks, how); !s.ok()) return s;
  return qkv::BackwardPlan::make(in, out, what, how, made.plan);
}

}  // namespace

qkv_status qkv_attention_gradients(const qkv_gradient_inputs* inputs,
                                   const qkv_gradient_outputs* outputs,
                                   const qkv_attention_options* options,
                                   const qkv_execution* execution) {
  return guarded([&]() -> Status {
    qkv_gradient_plan made;
    if (Status s = make_plan(inputs, outputs, options, execution, made); !s.ok()) return s;
    return made.callbacks.status_of(made.plan->run({}, made.callbacks.stop()));
  });
}

qkv_status qkv_gradient_plan_create(const qkv_gradient_inputs* inputs,
                                    const qkv_gradient_outputs* outputs,
                                    const qkv_attention_options* options,
                                    const qkv_execution* execution, qkv_gradient_plan** plan) {
  return guarded([&]() -> Status {
    if (plan == nullptr) return null_argument("plan");
    *plan = nullptr;
    auto made = std::make_unique<qkv_gradient_plan>();
    if (Status s = make_plan(inputs, outputs, options, execution, *made); !s.ok()) return s;
    *plan = made.release();
    return {};
  });
}

qkv_status qkv_gradient_plan_describe(const qkv_gradient_plan* plan,
                                      qkv_plan_description* description) {
  return guarded([&]() -> Status {
    if (plan == nullptr) return null_argument("plan");
    return write_struct("description", described(plan->plan->description()), description);
  });
}

qkv_status qkv_gradient_plan_run(qkv_gradient_plan* plan, void* workspace,
                                 int64_t workspace_bytes) {
  return guarded([&]() -> Status {
    if (plan == nullptr) return null_argument("plan");
    std::span<std::byte> memory;
    if (Status s = to_workspace(workspace, workspace_bytes, memory); !s.ok()) return s;
    plan->callbacks.reset();
    return plan->callbacks.status_of(plan->plan->run(memory, plan->callbacks.stop()));
  });
}

void qkv_gradient_plan_destroy(qkv_gradient_plan* plan) { delete plan; }
