#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "boundary.h"
#include "convert.h"
#include "plan/serialized_states.h"
#include "plan/states.h"

using qkv::States;
using qkv::Status;
using namespace qkv::c;

struct qkv_state {
  States states;
};

qkv_status qkv_state_of(const qkv_attention_inputs* inputs, int64_t first_key,
                        const qkv_attention_options* options, const qkv_execution* execution,
                        qkv_state** state) {
  return guarded([&]() -> Status {
    if (state == nullptr) return null_argument("state");
    *state = nullptr;
    qkv::AttentionInputs in;
    qkv::AttentionOptions what;
    qkv::ExecutionOptions how;
    CallbackRecord callbacks;
    if (Status s = to_inputs(inputs, in); !s.ok()) return s;
    if (Status s = to_options(options, callbacks, what); !s.ok()) return s;
    if (Status s = to_execution(execution, callbacks, how); !s.ok()) return s;
    auto made = std::make_unique<qkv_state>();
    if (Status s = callbacks.status_of(
            qkv::compute_states(in, first_key, what, how, callbacks.stop(), made->states));
        !s.ok()) {
      return s;
    }
    *state = made.release();
    return {};
  });
}

qkv_status qkv_state_keys(const qkv_state* state, int64_t* first_key, int64_t* end_key) {
  return guarded([&]() -> Status {
    if (state == nullptr) return null_argument("state");
    if (first_key == nullptr) return null_argument("first_key");
    if (end_key == nullptr) return null_argument("end_key");
    *first_key = state->states.first_key;
    *end_key = state->states.end_key;
    return {};
  });
}

qkv_status qkv_state_merge(qkv_state* state, const qkv_state* other) {
  return guarded([&]() -> Status {
    if (state == nullptr) return null_argument("state");
    if (other == nullptr) return null_argument("other");
    return qkv::merge_states(state->states, other->states);
  });
}

qkv_status qkv_state_finish(const qkv_state* state, const qkv_attention_outputs* outputs,
                            const float* sinks, int64_t sink_count) {
  return guarded([&]() -> Status {
    if (state == nullptr) return null_argument("state");
    qkv::AttentionOutputs out;
    std::span<const float> logits;
    if (Status s = to_outputs(outputs, out); !s.ok()) return s;
    if (Status s = to_span("sinks", sinks, sink_count, logits); !s.ok()) return s;
    return qkv::finish_states(state->states, out, logits);
  });
}

qkv_status qkv_state_serialize(const qkv_state* state, void* bytes, int64_t capacity,
                               int64_t* size) {
  return guarded([&]() -> Status {
    if (state == nullptr) return null_argument("state");
    if (size == nullptr) return null_argument("size");
    if (Status s = check_array("bytes", bytes, capacity); !s.ok()) return s;
    const std::vector<std::byte> serialized = qkv::serialize_states(state->states);
    *size = static_cast<std::int64_t>(serialized.size());
    if (bytes == nullptr) return {};
    if (capacity < *size) {
      return qkv::invalid_argument("bytes: a capacity of " + std::to_string(capacity) +
                                   " is too little; this state has " + std::to_string(*size) +
                                   " bytes");
    }
    std::memcpy(bytes, serialized.data(), serialized.size());
    return {};
  });
}

qkv_status qkv_state_deserialize(const void* bytes, int64_t size, qkv_state** state) {
  return guarded([&]() -> Status {
    if (state == nullptr) return null_argument("state");
    *state = nullptr;
    std::span<const std::byte> serialized;
    if (Status s = to_span("bytes", static_cast<const std::byte*>(bytes), size, serialized);
        !s.ok()) {
      return s;
    }
    auto made = std::make_unique<qkv_state>();
    if (Status s = qkv::deserialize_states(serialized, made->states); !s.ok()) return s;
    *state = made.release();
    return {};
  });
}

qkv_status qkv_state_copy(const qkv_state* state, qkv_state** copy) {
  return guarded([&]() -> Status {
    if (copy == nullptr) return null_argument("copy");
    *copy = nullptr;
    if (state == nullptr) return null_argument("state");
    *copy = new qkv_state{*state};
    return {};
  });
}

void qkv_state_destroy(qkv_state* state) { delete state; }
