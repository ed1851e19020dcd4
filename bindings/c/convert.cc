#include "convert.h"

#include <limits>
#include <string>
#include <vector>

#include "structs.h"

namespace qkv::c {
namespace {

// The numbers of the header are those of the library.
static_assert(QKV_INVALID_ARGUMENT == static_cast<int>(StatusCode::kInvalidArgument) &&
              QKV_UNSUPPORTED == static_cast<int>(StatusCode::kUnsupported) &&
              QKV_OUT_OF_MEMORY == static_cast<int>(StatusCode::kOutOfMemory) &&
              QKV_CANCELLED == static_cast<int>(StatusCode::kCancelled) &&
              QKV_CALLBACK_FAILED == static_cast<int>(StatusCode::kCallbackFailed));
static_assert(QKV_FLOAT32 == static_cast<int>(DType::kFloat32) &&
              QKV_FLOAT16 == static_cast<int>(DType::kFloat16) &&
              QKV_BFLOAT16 == static_cast<int>(DType::kBFloat16) &&
              QKV_FLOAT64 == static_cast<int>(DType::kFloat64) &&
              QKV_BOOL == static_cast<int>(DType::kBool) &&
              QKV_UINT8 == static_cast<int>(DType::kUInt8) &&
              QKV_INT8 == static_cast<int>(DType::kInt8) &&
              QKV_UINT16 == static_cast<int>(DType::kUInt16) &&
              QKV_INT16 == static_cast<int>(DType::kInt16) &&
              QKV_UINT32 == static_cast<int>(DType::kUInt32) &&
              QKV_INT32 == static_cast<int>(DType::kInt32) &&
              QKV_UINT64 == static_cast<int>(DType::kUInt64) &&
              QKV_INT64 == static_cast<int>(DType::kInt64));
static_assert(QKV_ISA_BEST == static_cast<int>(Isa::kBest) &&
              QKV_ISA_PORTABLE == static_cast<int>(Isa::kPortable) &&
              QKV_ISA_NEON == static_cast<int>(Isa::kNeon) &&
              QKV_ISA_AVX2 == static_cast<int>(Isa::kAvx2) &&
              QKV_ISA_AVX512 == static_cast<int>(Isa::kAvx512));
static_assert(QKV_BOTTOM_RIGHT == static_cast<int>(Alignment::kBottomRight) &&
              QKV_TOP_LEFT == static_cast<int>(Alignment::kTopLeft));
static_assert(QKV_ARITHMETIC_BY_TYPE == static_cast<int>(Arithmetic::kByType) &&
              QKV_ARITHMETIC_FLOAT32 == static_cast<int>(Arithmetic::kFloat32));

// An enumeration of the values 0 to `last`.
template <class Enum>
Status to_enum(const char* name, std::int32_t number, Enum last, Enum& value) {
  if (number < 0 || number > static_cast<std::int32_t>(last)) {
    return invalid_argument(std::string(name) + ": " + std::to_string(number) +
                            " is none of the values it can have, 0 to " +
                            std::to_string(static_cast<std::int32_t>(last)));
  }
  value = static_cast<Enum>(number);
  return {};
}

template <class View>
Status fill_view(const char* name, const qkv_tensor* tensor, View& view) {
  view = View();
  if (tensor == nullptr) return {};
  if (!is_dtype(tensor->dtype)) {
    return invalid_argument(std::string(name) + ": dtype " + std::to_string(tensor->dtype) +
                            " is no type; pass one of QKV_FLOAT32 to QKV_INT64");
  }
  if (tensor->rank < 0 || tensor->rank > kMaxRank) {
    return invalid_argument(std::string(name) + ": rank " + std::to_string(tensor->rank) +
                            " is out of range; pass 0 to 4 dimensions, or NULL for no tensor");
  }
  view.data = tensor->data;
  view.dtype = static_cast<DType>(tensor->dtype);
  view.rank = tensor->rank;
  for (int axis = 0; axis < view.rank; ++axis) {
    view.extents[axis] = tensor->extents[axis];
    view.strides[axis] = tensor->strides[axis];
  }
  return {};
}

template <class T>
Status fill_vector(const char* name, const T* data, std::int64_t count, std::vector<T>& vector) {
  if (Status s = check_array(name, data, count); !s.ok()) return s;
  if (count != 0) vector.assign(data, data + count);
  return {};
}

Status fill_window_end(const char* name, std::int64_t end, std::optional<std::int64_t>& window) {
  if (end < -1) {
    return invalid_argument(std::string(name) + ": " + std::to_string(end) +
                            " is below -1; pass -1 for no bound, or a number of keys");
  }
  if (end != -1) window = end;
  return {};
}

Status fill_arrays(const qkv_attention_options& given, AttentionOptions& options) {
  const auto floats = [](const char* name, const float* data, std::int64_t count,
                         std::vector<float>& vector) {
    return fill_vector(name, data, count, vector);
  };
  if (Status s =
          floats("alibi_slopes", given.alibi_slopes, given.alibi_slope_count, options.alibi_slopes);
      !s.ok()) {
    return s;
  }
  if (Status s = floats("sinks", given.sinks, given.sink_count, options.sinks); !s.ok()) return s;
  struct Array {
    const char* name;
    const std::int64_t* data;
    std::int64_t count;
    std::vector<std::int64_t>& vector;
  };
  for (const Array& array :
       {Array{"key_begin", given.key_begin, given.key_begin_count, options.key_begin},
        Array{"key_lengths", given.key_lengths, given.key_length_count, options.key_lengths},
        Array{"query_lengths", given.query_lengths, given.query_length_count,
              options.query_lengths},
        Array{"query_cu_seqlens", given.query_cu_seqlens, given.query_cu_seqlen_count,
              options.query_cu_seqlens},
        Array{"key_cu_seqlens", given.key_cu_seqlens, given.key_cu_seqlen_count,
              options.key_cu_seqlens},
        Array{"query_offset", given.query_offset, given.query_offset_count,
              options.query_offset}}) {
    if (Status s = fill_vector(array.name, array.data, array.count, array.vector); !s.ok()) {
      return s;
    }
  }
  return {};
}

Status fill_dropout(const qkv_attention_options& given, AttentionOptions& options) {
  std::vector<std::int64_t> streams;
  if (Status s = fill_vector("dropout_streams", given.dropout_streams, given.dropout_stream_count,
                             streams);
      !s.ok()) {
    return s;
  }
  if (given.dropout == 0) return {};
  options.dropout = Dropout{given.dropout, given.dropout_seed, std::move(streams)};
  return {};
}

Status check_reserved(const char* name, std::uint32_t reserved) {
  if (reserved == 0) return {};
  return unsupported(std::string(name) + ": reserved is " + std::to_string(reserved) +
                     "; set all fields to 0 before the others are filled");
}

}  // namespace

Status check_array(const char* name, const void* data, std::int64_t count) {
  if (count < 0) {
    return invalid_argument(std::string(name) + ": a count of " + std::to_string(count) +
                            " is negative; pass the number of elements");
  }
  // Where memory has 32 bits a count of 2^32 must not become 0. Elements have 8 bytes at most.
  if (sizeof(std::size_t) < sizeof(count) && count > std::numeric_limits<std::int32_t>::max() / 8) {
    return invalid_argument(std::string(name) + ": a count of " + std::to_string(count) +
                            " is more than memory can hold; pass the number of elements");
  }
  if (data == nullptr && count != 0) {
    return invalid_argument(std::string(name) + ": null pointer with a count of " +
                            std::to_string(count) + "; pass both or neither");
  }
  return {};
}

Status to_workspace(void* memory, std::int64_t bytes, std::span<std::byte>& workspace) {
  if (memory != nullptr && bytes == 0) {
    return invalid_argument("workspace: 0 bytes; pass its size, or NULL for the plan's own");
  }
  return to_span("workspace", static_cast<std::byte*>(memory), bytes, workspace);
}

Status to_view(const char* name, const qkv_tensor* tensor, TensorView& view) {
  return fill_view(name, tensor, view);
}

Status to_view(const char* name, const qkv_tensor* tensor, MutableTensorView& view) {
  return fill_view(name, tensor, view);
}

Status to_inputs(const qkv_attention_inputs* given, AttentionInputs& inputs) {
  if (given == nullptr) return invalid_argument("inputs: null pointer; pass query, key and value");
  qkv_attention_inputs in;
  if (Status s = read_struct("inputs", given, in); !s.ok()) return s;
  if (Status s = check_reserved("inputs", in.reserved); !s.ok()) return s;
  if (Status s = to_view("query", in.query, inputs.query); !s.ok()) return s;
  if (Status s = to_view("key", in.key, inputs.key); !s.ok()) return s;
  return to_view("value", in.value, inputs.value);
}

Status to_outputs(const qkv_attention_outputs* given, AttentionOutputs& outputs) {
  if (given == nullptr) {
    return invalid_argument("outputs: null pointer; pass out, lse, weights or some of them");
  }
  qkv_attention_outputs out;
  if (Status s = read_struct("outputs", given, out); !s.ok()) return s;
  if (Status s = check_reserved("outputs", out.reserved); !s.ok()) return s;
  if (Status s = to_view("out", out.out, outputs.out); !s.ok()) return s;
  if (Status s = to_view("lse", out.lse, outputs.lse); !s.ok()) return s;
  if (Status s = to_view("weights", out.weights, outputs.weights); !s.ok()) return s;
  if (Status s = to_view("row_max", out.row_max, outputs.row_max); !s.ok()) return s;
  if (Status s = to_view("row_sum", out.row_sum, outputs.row_sum); !s.ok()) return s;
  if (Status s = fill_vector("heads", out.heads, out.head_count, outputs.selection.heads);
      !s.ok()) {
    return s;
  }
  return fill_vector("rows", out.rows, out.row_count, outputs.selection.rows);
}

Status to_options(const qkv_attention_options* given, CallbackRecord& record,
                  AttentionOptions& options) {
  qkv_attention_options in;
  if (Status s = read_struct("options", given, in); !s.ok()) return s;
  options.causal = in.causal != 0;
  if (in.has_scale != 0) options.scale = in.scale;
  if (in.has_softcap != 0) options.softcap = in.softcap;
  if (in.has_window != 0) {
    if (Status s = fill_window_end("window_left", in.window_left, options.window.left); !s.ok()) {
      return s;
    }
    if (Status s = fill_window_end("window_right", in.window_right, options.window.right);
        !s.ok()) {
      return s;
    }
  }
  if (Status s = to_enum("alignment", in.alignment, Alignment::kTopLeft, options.alignment);
      !s.ok()) {
    return s;
  }
  if (Status s = to_enum("arithmetic", in.arithmetic, Arithmetic::kFloat32, options.arithmetic);
      !s.ok()) {
    return s;
  }
  if (Status s = to_view("bias", in.bias, options.bias); !s.ok()) return s;
  if (Status s = to_view("mask", in.mask, options.mask); !s.ok()) return s;
  options.score_mod = to_score_mod(in.score_mod, in.score_mod_context, record);
  options.score_mod_gradient =
      to_score_mod_gradient(in.score_mod_gradient, in.score_mod_gradient_context, record);
  if (Status s = fill_dropout(in, options); !s.ok()) return s;
  options.mask_mod = to_mask_mod(in.mask_mod, in.mask_mod_context, record);
  options.block_predicate =
      to_block_predicate(in.block_predicate, in.block_predicate_context, record);
  return fill_arrays(in, options);
}

Status to_gradient_inputs(const qkv_gradient_inputs* given, GradientInputs& inputs) {
  if (given == nullptr) return invalid_argument("inputs: null pointer; pass query, key and value");
  qkv_gradient_inputs in;
  if (Status s = read_struct("inputs", given, in); !s.ok()) return s;
  if (Status s = check_reserved("inputs", in.reserved); !s.ok()) return s;
  struct Named {
    const char* name;
    const qkv_tensor* tensor;
    TensorView& view;
  };
  for (const Named& at :
       {Named{"query", in.query, inputs.query}, Named{"key", in.key, inputs.key},
        Named{"value", in.value, inputs.value}, Named{"d_out", in.d_out, inputs.d_out},
        Named{"d_lse", in.d_lse, inputs.d_lse}, Named{"out", in.out, inputs.out},
        Named{"row_max", in.row_max, inputs.row_max}, Named{"row_sum", in.row_sum, inputs.row_sum},
        Named{"lse", in.lse, inputs.lse}}) {
    if (Status s = to_view(at.name, at.tensor, at.view); !s.ok()) return s;
  }
  return {};
}

Status to_gradient_outputs(const qkv_gradient_outputs* given, GradientOutputs& outputs) {
  if (given == nullptr) {
    return invalid_argument("outputs: null pointer; pass d_query, d_key, d_value or some of them");
  }
  qkv_gradient_outputs out;
  if (Status s = read_struct("outputs", given, out); !s.ok()) return s;
  if (Status s = check_reserved("outputs", out.reserved); !s.ok()) return s;
  if (Status s = to_view("d_query", out.d_query, outputs.d_query); !s.ok()) return s;
  if (Status s = to_view("d_key", out.d_key, outputs.d_key); !s.ok()) return s;
  if (Status s = to_view("d_value", out.d_value, outputs.d_value); !s.ok()) return s;
  if (Status s = to_view("d_bias", out.d_bias, outputs.d_bias); !s.ok()) return s;
  return to_view("d_sinks", out.d_sinks, outputs.d_sinks);
}

Status to_execution(const qkv_execution* given, CallbackRecord& record,
                    ExecutionOptions& execution) {
  qkv_execution in;
  if (Status s = read_struct("execution", given, in); !s.ok()) return s;
  execution.threads = in.threads;
  if (Status s = to_enum("isa", in.isa, Isa::kAvx512, execution.isa); !s.ok()) return s;
  execution.check_block_predicate = in.check_block_predicate != 0;
  execution.cancel = in.cancel == nullptr ? nullptr : &in.cancel->requested;
  execution.progress = to_progress(in.progress, in.progress_context, record);
  return {};
}

qkv_plan_description described(const PlanDescription& d) {
  qkv_plan_description filled = {};
  filled.isa = static_cast<std::int32_t>(d.isa);
  filled.threads = d.threads;
  filled.tasks = d.tasks;
  filled.rows_per_tile = d.rows_per_tile;
  filled.workspace_bytes = static_cast<std::int64_t>(d.workspace_bytes);
  filled.weights_bytes = static_cast<std::int64_t>(d.weights_bytes);
  filled.kernel = d.kernel.c_str();
  return filled;
}

}  // namespace qkv::c
