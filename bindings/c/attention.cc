#include "qkv/attention.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "boundary.h"
#include "convert.h"
#include "structs.h"

using qkv::AttentionInputs;
using qkv::AttentionOptions;
using qkv::AttentionOutputs;
using qkv::AttentionPlan;
using qkv::ExecutionOptions;
using qkv::Status;
using namespace qkv::c;

struct qkv_plan {
  CallbackRecord callbacks;
  std::unique_ptr<AttentionPlan> plan;
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
  throw_on_failure(what, made.callbacks);
  throw_on_failure(how, made.callbacks);
  made.plan = std::make_unique<AttentionPlan>(in, out, what, how);
  return {};
}

// Null and 0 are no workspace; other pairs of which one is 0 are mistakes.
Status to_workspace(void* memory, std::int64_t bytes, std::span<std::byte>& workspace) {
  if (memory != nullptr && bytes == 0) {
    return qkv::invalid_argument("workspace: 0 bytes; pass its size, or NULL for the plan's own");
  }
  return to_span("workspace", static_cast<std::byte*>(memory), bytes, workspace);
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
    const std::vector<std::int64_t> shape = qkv::output_shape(in, what);
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
    made.plan->run();
    return {};
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
    const qkv::PlanDescription& d = plan->plan->description();
    qkv_plan_description filled = {};
    filled.isa = static_cast<std::int32_t>(d.isa);
    filled.threads = d.threads;
    filled.tasks = d.tasks;
    filled.rows_per_tile = d.rows_per_tile;
    filled.workspace_bytes = static_cast<std::int64_t>(d.workspace_bytes);
    filled.weights_bytes = static_cast<std::int64_t>(d.weights_bytes);
    filled.kernel = d.kernel.c_str();
    return write_struct("description", filled, description);
  });
}

qkv_status qkv_plan_run(qkv_plan* plan, void* workspace, int64_t workspace_bytes) {
  return guarded([&]() -> Status {
    if (plan == nullptr) return null_argument("plan");
    std::span<std::byte> memory;
    if (Status s = to_workspace(workspace, workspace_bytes, memory); !s.ok()) return s;
    plan->callbacks.reset();
    if (memory.empty()) {
      plan->plan->run();
    } else {
      plan->plan->run(memory);
    }
    return {};
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
    plan->plan->run(in, out, memory);
    return {};
  });
}

void qkv_plan_destroy(qkv_plan* plan) { delete plan; }
