// The elements of tensors of any type, one at a time.
#ifndef QKV_APPS_QKV_ELEMENTS_H_
#define QKV_APPS_QKV_ELEMENTS_H_

#include <bit>
#include <cstdint>

#include "qkv/tensor.h"

namespace qkv::app {

// IEEE binary16 and bfloat16; every value is a float32 exactly.
struct Half {
  std::uint16_t bits;
  explicit operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
    if (exponent == 0) {  // zero or subnormal: fraction * 2^-24
      const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
      return sign != 0 ? -magnitude : magnitude;
    }
    const std::uint32_t wide = exponent == 0x1f ? 0xff : exponent + 127 - 15;
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
  }
};
struct BFloat16 {
  std::uint16_t bits;
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

// The value of an element as T, rounded to nearest where T is narrower.
template <class T, class Element>
T value_as(Element element) {
  if constexpr (std::is_same_v<Element, Half> || std::is_same_v<Element, BFloat16>) {
    return static_cast<T>(static_cast<float>(element));
  } else {
    return static_cast<T>(element);
  }
}

// Calls f(Element{}) with the C++ type that elements of `dtype` are stored as (bool: one byte).
template <class F>
decltype(auto) with_element(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat16:
      return f(Half{});
    case DType::kBFloat16:
      return f(BFloat16{});
    case DType::kFloat64:
      return f(double{});
    case DType::kBool:
    case DType::kUInt8:
      return f(std::uint8_t{});
    case DType::kInt8:
      return f(std::int8_t{});
    case DType::kUInt16:
      return f(std::uint16_t{});
    case DType::kInt16:
      return f(std::int16_t{});
    case DType::kUInt32:
      return f(std::uint32_t{});
    case DType::kInt32:
      return f(std::int32_t{});
    case DType::kUInt64:
      return f(std::uint64_t{});
    case DType::kInt64:
      return f(std::int64_t{});
    case DType::kFloat32:
      break;
  }
  return f(float{});
}

inline bool is_row_major(const TensorView& view) {
  std::int64_t stride = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    if (view.extents[axis] != 1 && view.strides[axis] != stride) return false;
    stride *= view.extents[axis];
  }
  return true;
}

// Walks the elements in row-major order; offset() counts elements from view.data.
class Walk {
 public:
  explicit Walk(const TensorView& view) : view_(view) {}
  std::int64_t offset() const { return offset_; }
  void next() {
    for (int axis = view_.rank - 1; axis >= 0; --axis) {
      offset_ += view_.strides[axis];
      if (++place_[axis] < view_.extents[axis]) return;
      offset_ -= view_.strides[axis] * view_.extents[axis];
      place_[axis] = 0;
    }
  }

 private:
  const TensorView& view_;
  Extents place_{};
  std::int64_t offset_ = 0;
};

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_ELEMENTS_H_
