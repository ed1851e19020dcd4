#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "boundary.h"
#include "convert.h"
#include "plan/plan.h"
#include "structs.h"

using qkv::AttentionInputs;
using qkv::AttentionOptions;
using qkv::AttentionOutputs;
using qkv::ExecutionOptions;
using qkv::Plan;
using qkv::Status;
using namespace qkv::c;

struct qkv_plan {
  CallbackRecord callbacks;
  std::unique_ptr<Plan> plan;
};

namespace {

Status make_plan(const qkv_attention_inputs* inputs, const qkv_attention_outputs* outputs,
                 const qkv_attention_options* options, const qkv_execution* execution,
                 qkv_plan& made) {
  AttentionInputs in;
  AttentionOutputs out;
  AttentionOptions what;
  ExecutionOptions how;
  if (Status s = to_inputs(inputs, in); !s.ok()) return s;
  if (Status s = to_outputs(outputs, out); !s.ok()) return s;
  if (Status s = to_options(options, made.callbacks, what); !s.ok()) return s;
  if (Status s = to_execution(execution, made.callbacks, how); !s.ok()) return s;
  return Plan::make(in, out, what, how, made.plan);
}

}  // namespace

qkv_status qkv_output_shape(const qkv_attention_inputs* inputs,
                            const qkv_attention_options* options, int64_t extents[4],
                            int32_t* rank) {
  return guarded([&]() -> Status {
    if (extents == nullptr) return null_argument("extents");
    if (rank == nullptr) return null_argument("rank");
    AttentionInputs in;
    AttentionOptions what;
    CallbackRecord callbacks;
    if (Status s = to_inputs(inputs, in); !s.ok()) return s;
    if (Status s = to_options(options, callbacks, what); !s.ok()) return s;
    std::vector<std::int64_t> shape;
    if (Status s = qkv::infer_output_shape(in, what, shape); !s.ok()) return s;
    std::copy(shape.begin(), shape.end(), extents);
    *rank = static_cast<std::int32_t>(shape.size());
    return {};
  });
}

qkv_status qkv_attention(const qkv_attention_inputs* inputs, const qkv_attention_outputs* outputs,
                         const qkv_attention_options* options, const qkv_execution* execution) {
  return guarded([&]() -> Status {
    qkv_plan made;
    if (Status s = make_plan(inputs, outputs, options, execution, made); !s.ok()) return s;
    return made.callbacks.status_of(made.plan->run({}, made.callbacks.stop()));
  });
}

qkv_status qkv_plan_create(const qkv_attention_inputs* inputs, const qkv_attention_outputs* outputs,
                           const qkv_attention_options* options, const qkv_execution* execution,
                           qkv_plan** plan) {
  return guarded([&]() -> Status {
    if (plan == nullptr) return null_argument("plan");
    *plan = nullptr;
    auto made = std::make_unique<qkv_plan>();
    if (Status s = make_plan(inputs, outputs, options, execution, *made); !s.ok()) return s;
    *plan = made.release();
    return {};
  });
}

qkv_status qkv_plan_describe(const qkv_plan* plan, qkv_plan_description* description) {
  return guarded([&]() -> Status {
    if (plan == nullptr) return null_argument("plan");
    return write_struct("description", described(plan->plan->description()), description);
  });
}

qkv_status qkv_plan_run(qkv_plan* plan, void* workspace, int64_t workspace_bytes) {
  return guarded([&]() -> Status {
    if (plan == nullptr) return null_argument("plan");
    std::span<std::byte> memory;
    if (Status s = to_workspace(workspace, workspace_bytes, memory); !s.ok()) return s;
    plan->callbacks.reset();
    return plan->callbacks.status_of(plan->plan->run(memory, plan->callbacks.stop()));
  });
}

qkv_status qkv_plan_run_on(qkv_plan* plan, const qkv_attention_inputs* inputs,
                           const qkv_attention_outputs* outputs, void* workspace,
                           int64_t workspace_bytes) {
  return guarded([&]() -> Status {
    if (plan == nullptr) return null_argument("plan");
    AttentionInputs in;
    AttentionOutputs out;
    std::span<std::byte> memory;
    if (Status s = to_inputs(inputs, in); !s.ok()) return s;
    if (Status s = to_outputs(outputs, out); !s.ok()) return s;
    if (Status s = to_workspace(workspace, workspace_bytes, memory); !s.ok()) return s;
    plan->callbacks.reset();
    return plan->callbacks.status_of(plan->plan->run_on(in, out, memory, plan->callbacks.stop()));
  });
}

void qkv_plan_destroy(qkv_plan* plan) { delete plan; }
