// What C callers give, as the library's own types. Nothing here throws, so that builds without
// exceptions share it; what the values mean is left for validate() to check.
#ifndef QKV_BINDINGS_C_CONVERT_H_
#define QKV_BINDINGS_C_CONVERT_H_

#include <atomic>
#include <cstdint>
#include <span>

#include "callbacks.h"
#include "qkv/attention.h"
#include "qkv/gradient.h"
#include "qkv/status.h"
#include "qkv_gradient.h"

struct qkv_cancel_flag {
  std::atomic<bool> requested{false};
};

namespace qkv::c {

// `name` is that of the argument, for messages. A null tensor becomes an absent view.
Status to_view(const char* name, const qkv_tensor* tensor, TensorView& view);
Status to_view(const char* name, const qkv_tensor* tensor, MutableTensorView& view);

inline bool is_dtype(std::int32_t number) { return number >= QKV_FLOAT32 && number <= QKV_INT64; }
inline bool is_isa(std::int32_t number) {
  return number >= QKV_ISA_BEST && number <= QKV_ISA_AVX512;
}

// An array, where null with a count above 0 and a negative count are refused.
template <class T>
Status to_span(const char* name, T* data, std::int64_t count, std::span<T>& span);

Status to_inputs(const qkv_attention_inputs* given, AttentionInputs& inputs);
Status to_outputs(const qkv_attention_outputs* given, AttentionOutputs& outputs);
Status to_gradient_inputs(const qkv_gradient_inputs* given, GradientInputs& inputs);
Status to_gradient_outputs(const qkv_gradient_outputs* given, GradientOutputs& outputs);
// A workspace of the caller's. Null and 0 are none; other pairs of which one is 0 are mistakes.
Status to_workspace(void* memory, std::int64_t bytes, std::span<std::byte>& workspace);
// Null is all defaults. `record` must outlive the callbacks in the result.
Status to_options(const qkv_attention_options* given, CallbackRecord& record,
                  AttentionOptions& options);
Status to_execution(const qkv_execution* given, CallbackRecord& record,
                    ExecutionOptions& execution);

// Its text lives as long as `description`.
qkv_plan_description described(const PlanDescription& description);

Status check_array(const char* name, const void* data, std::int64_t count);

template <class T>
Status to_span(const char* name, T* data, std::int64_t count, std::span<T>& span) {
  if (Status s = check_array(name, data, count); !s.ok()) return s;
  span = std::span<T>(data, static_cast<std::size_t>(count));
  return {};
}

}  // namespace qkv::c

#endif  // QKV_BINDINGS_C_CONVERT_H_
