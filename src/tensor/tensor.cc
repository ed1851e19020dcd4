#include "qkv/tensor.h"

#include <cstdlib>
#include <cstring>
#include <limits>

namespace qkv {
namespace {

struct TypeInfo {
  DType dtype;
  std::size_t size;
  std::string_view name;
  std::string_view short_name;
};

// In the order of DType, so that an index is a type.
constexpr TypeInfo kTypes[] = {
    {DType::kFloat32, 4, "float32", "f32"},    {DType::kFloat16, 2, "float16", "f16"},
    {DType::kBFloat16, 2, "bfloat16", "bf16"}, {DType::kFloat64, 8, "float64", "f64"},
    {DType::kBool, 1, "bool", "bool"},         {DType::kUInt8, 1, "uint8", "u8"},
    {DType::kInt8, 1, "int8", "i8"},           {DType::kUInt16, 2, "uint16", "u16"},
    {DType::kInt16, 2, "int16", "i16"},        {DType::kUInt32, 4, "uint32", "u32"},
    {DType::kInt32, 4, "int32", "i32"},        {DType::kUInt64, 8, "uint64", "u64"},
    {DType::kInt64, 8, "int64", "i64"},
};

const TypeInfo& info(DType dtype) { return kTypes[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::size_t size_of(DType dtype) { return info(dtype).size; }
std::string_view name_of(DType dtype) { return info(dtype).name; }
bool is_floating(DType dtype) { return dtype <= DType::kFloat64; }

bool dtype_from_name(std::string_view name, DType& dtype) {
  for (const TypeInfo& type : kTypes) {
    if (name == type.name || name == type.short_name) {
      dtype = type.dtype;
      return true;
    }
  }
  return false;
}

std::string shape_string(const TensorView& view) {
  if (!view.defined()) return "(absent)";
  std::string text = "[";
  for (int axis = 0; axis < view.rank && axis < kMaxRank; ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(view.extents[axis]);
  }
  if (view.rank > kMaxRank) text += ", ... (rank " + std::to_string(view.rank) + ")";
  return text + "]";
}

std::string describe(const TensorView& view) {
  if (!view.defined()) return "(absent)";
  return std::string(name_of(view.dtype)) + " " + shape_string(view);
}

Status allocate(DType dtype, std::span<const std::int64_t> shape, Tensor& tensor) {
  MutableTensorView view(nullptr, dtype, shape);
  if (dtype > DType::kInt64) {
    return invalid_argument("dtype: type " + std::to_string(static_cast<int>(dtype)) +
                            " is unknown; pass a value of DType");
  }
  if (view.rank > kMaxRank) {
    return invalid_argument("shape: rank " + std::to_string(view.rank) +
                            " is too large; a tensor has at most 4 dimensions");
  }
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  bool empty = false;
  for (std::int64_t extent : shape) {
    if (extent < 0)
      return invalid_argument("shape: " + shape_string(view) +
                              " has a negative extent; extents are 0 or more");
    empty = empty || extent == 0;
  }
  for (std::int64_t extent : shape) {
    if (empty) break;
    if (bytes > kMaxBytes / extent) {
      return invalid_argument("shape: " + describe(view) + " is over 2^62 bytes; make it smaller");
    }
    bytes *= extent;
  }
  if (empty) bytes = 0;
  // calloc gives zero pages untouched; the alignment comes from over-allocating.
  constexpr std::size_t kAlignment = 64;
  void* memory = std::calloc(static_cast<std::size_t>(bytes) + kAlignment, 1);
  if (memory == nullptr) {
    return {StatusCode::kOutOfMemory,
            "no memory for a tensor " + describe(view) + " of " + std::to_string(bytes) + " bytes"};
  }
  std::shared_ptr<void> storage(memory, std::free);
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  view.data = reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
  tensor = Tensor(std::move(storage), view);
  return {};
}

}  // namespace qkv
