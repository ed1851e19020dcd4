// Tensors: element types, views with strides (mdspan's vocabulary, rank 0 to 4) and owning tensors.
//
// A view is a pointer, a type, extents and strides; strides count elements, and may be 0 or
// negative. Views don't own memory. No arithmetic happens here.
#ifndef QKV_TENSOR_H_
#define QKV_TENSOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "qkv/status.h"

namespace qkv {

enum class DType : std::uint8_t {
  kFloat32,
  kFloat16,   // IEEE binary16, stored as std::uint16_t
  kBFloat16,  // upper half of a binary32, stored as std::uint16_t
  kFloat64,
  kBool,  // one byte; 0 is false, anything else true
  kUInt8,
  kInt8,
  kUInt16,
  kInt16,
  kUInt32,
  kInt32,
  kUInt64,
  kInt64,
};

std::size_t size_of(DType dtype);       // bytes of an element
std::string_view name_of(DType dtype);  // "float32", "bfloat16", "bool", ...
bool is_floating(DType dtype);          // float32, float16, bfloat16, float64
// The type named `name` ("float32" or "f32", "bfloat16" or "bf16", ...); false if there is none.
bool dtype_from_name(std::string_view name, DType& dtype);

namespace internal {
template <class T>
constexpr DType dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>)
    return DType::kFloat32;
  else if constexpr (std::is_same_v<U, double>)
    return DType::kFloat64;
  else if constexpr (std::is_same_v<U, bool>)
    return DType::kBool;
  else if constexpr (std::is_same_v<U, std::uint8_t>)
    return DType::kUInt8;
  else if constexpr (std::is_same_v<U, std::int8_t>)
    return DType::kInt8;
  else if constexpr (std::is_same_v<U, std::uint16_t>)
    return DType::kUInt16;
  else if constexpr (std::is_same_v<U, std::int16_t>)
    return DType::kInt16;
  else if constexpr (std::is_same_v<U, std::uint32_t>)
    return DType::kUInt32;
  else if constexpr (std::is_same_v<U, std::int32_t>)
    return DType::kInt32;
  else if constexpr (std::is_same_v<U, std::uint64_t>)
    return DType::kUInt64;
  else {
    static_assert(std::is_same_v<U, std::int64_t>, "no qkv::DType for this element type");
    return DType::kInt64;
  }
}
}  // namespace internal

inline constexpr int kMaxRank = 4;
using Extents = std::array<std::int64_t, kMaxRank>;

// Pointer is `const void*` (TensorView) or `void*` (MutableTensorView).
template <class Pointer>
struct BasicTensorView {
  Pointer data = nullptr;  // aligned as its elements are
  DType dtype = DType::kFloat32;
  int rank = -1;  // -1: no tensor at all ("absent")
  Extents extents{};
  Extents strides{};

  BasicTensorView() = default;

  // Row-major view of `elements`. More than kMaxRank extents make the view invalid (rank 5 or
  // more), which every function that takes a view refuses.
  template <class T>
    requires std::is_convertible_v<T*, Pointer>
  BasicTensorView(T* elements, std::initializer_list<std::int64_t> shape)
      : BasicTensorView(elements, internal::dtype_of<T>(), shape) {}
  BasicTensorView(Pointer elements, DType type, std::initializer_list<std::int64_t> shape)
      : BasicTensorView(elements, type,
                        std::span<const std::int64_t>(shape.begin(), shape.size())) {}
  BasicTensorView(Pointer elements, DType type, std::span<const std::int64_t> shape)
      : data(elements), dtype(type), rank(static_cast<int>(shape.size())) {
    std::int64_t stride = 1;
    for (int axis = rank < kMaxRank ? rank - 1 : kMaxRank - 1; axis >= 0; --axis) {
      extents[axis] = shape[axis];
      strides[axis] = stride;
      // Unsigned, so that absurd extents wrap instead of being undefined; validation refuses them.
      stride = static_cast<std::int64_t>(static_cast<std::uint64_t>(stride) *
                                         static_cast<std::uint64_t>(shape[axis]));
    }
  }

  // A mutable view is a view.
  operator BasicTensorView<const void*>() const
    requires(!std::is_same_v<Pointer, const void*>)
  {
    BasicTensorView<const void*> view;
    view.data = data;
    view.dtype = dtype;
    view.rank = rank;
    view.extents = extents;
    view.strides = strides;
    return view;
  }

  bool defined() const { return rank >= 0; }
  std::int64_t extent(int axis) const { return extents[axis]; }
  std::int64_t stride(int axis) const { return strides[axis]; }
  std::int64_t size() const {  // elements
    std::int64_t count = 1;
    for (int axis = 0; axis < rank; ++axis) count *= extents[axis];
    return count;
  }
  // The same elements with axes a and b exchanged: [B, L, H, D] read as [B, H, L, D].
  BasicTensorView transposed(int a, int b) const {
    BasicTensorView view = *this;
    std::swap(view.extents[a], view.extents[b]);
    std::swap(view.strides[a], view.strides[b]);
    return view;
  }
  // Elements [begin, end) of one axis.
  BasicTensorView slice(int axis, std::int64_t begin, std::int64_t end) const {
    BasicTensorView view = *this;
    using Byte = std::conditional_t<std::is_same_v<Pointer, void*>, std::byte, const std::byte>;
    view.data = static_cast<Byte*>(data) +
                begin * strides[axis] * static_cast<std::int64_t>(size_of(dtype));
    view.extents[axis] = end - begin;
    return view;
  }
};

using TensorView = BasicTensorView<const void*>;
using MutableTensorView = BasicTensorView<void*>;

// "[1, 8, 4096, 64]"; "(absent)" for no tensor.
std::string shape_string(const TensorView& view);
// "float32 [1, 8, 4096, 64]"
std::string describe(const TensorView& view);

// A tensor that shares ownership of its memory (its own, or a mapped file's).
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::shared_ptr<void> storage, const MutableTensorView& view)
      : storage_(std::move(storage)), view_(view) {}

  bool defined() const { return view_.defined(); }
  DType dtype() const { return view_.dtype; }
  int rank() const { return view_.rank; }
  std::int64_t extent(int axis) const { return view_.extents[axis]; }
  std::int64_t size() const { return view_.size(); }
  const MutableTensorView& view() const { return view_; }
  const std::shared_ptr<void>& storage() const { return storage_; }
  operator TensorView() const { return view_; }
  operator MutableTensorView() const { return view_; }
  // The first element. The caller names the type the tensor has; row-major if `allocate` made it.
  template <class T>
  T* data() const {
    return static_cast<T*>(view_.data);
  }

 private:
  std::shared_ptr<void> storage_;
  MutableTensorView view_;
};

// A new row-major tensor of zeros, 64-byte aligned. kOutOfMemory if memory is short,
// kInvalidArgument for a negative extent, more than kMaxRank extents or a size over 2^62 bytes.
Status allocate(DType dtype, std::span<const std::int64_t> shape, Tensor& tensor);

}  // namespace qkv

#endif  // QKV_TENSOR_H_
