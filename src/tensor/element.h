// Single elements of views, read and written by type. For plain loops; kernels have their own.
#ifndef QKV_TENSOR_ELEMENT_H_
#define QKV_TENSOR_ELEMENT_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "qkv/tensor.h"
#include "tensor/float16.h"

namespace qkv {

// Place of element (a, b, c, d) of a rank-4 view, counted in elements from its first one.
template <class View>
std::int64_t offset_of(const View& view, std::int64_t a, std::int64_t b, std::int64_t c,
                       std::int64_t d) {
  return a * view.strides[0] + b * view.strides[1] + c * view.strides[2] + d * view.strides[3];
}

// The element at `offset` of a float16, bfloat16 or float32 view, widened exactly.
inline float load_float(const TensorView& view, std::int64_t offset) {
  switch (view.dtype) {
    case DType::kFloat16:
      return float16_to_float(static_cast<const std::uint16_t*>(view.data)[offset]);
    case DType::kBFloat16:
      return bfloat16_to_float(static_cast<const std::uint16_t*>(view.data)[offset]);
    default:
      return static_cast<const float*>(view.data)[offset];
  }
}

inline double load_double(const TensorView& view, std::int64_t offset) {
  if (view.dtype == DType::kFloat64) return static_cast<const double*>(view.data)[offset];
  return load_float(view, offset);
}

inline bool load_bool(const TensorView& view, std::int64_t offset) {
  return static_cast<const std::uint8_t*>(view.data)[offset] != 0;
}

// As every result leaves the library: -0 becomes +0, every NaN the canonical one (NaN bits differ
// between CPUs).
inline float canonical(float value) {
  if (value != value) return std::bit_cast<float>(kCanonicalNaN32);
  return value == 0 ? 0.0f : value;
}

inline double canonical(double value) {
  if (value != value) return std::bit_cast<double>(std::uint64_t{0x7ff8} << 48);
  return value == 0 ? 0.0 : value;
}

// Rounds `value` to the view's type and writes it in canonical form.
inline void store_result(const MutableTensorView& view, std::int64_t offset, float value) {
  switch (view.dtype) {
    case DType::kFloat16: {
      const std::uint16_t bits = float_to_float16(value);
      static_cast<std::uint16_t*>(view.data)[offset] = bits == 0x8000 ? std::uint16_t{0} : bits;
      return;
    }
    case DType::kBFloat16: {
      const std::uint16_t bits = float_to_bfloat16(value);
      static_cast<std::uint16_t*>(view.data)[offset] = bits == 0x8000 ? std::uint16_t{0} : bits;
      return;
    }
    case DType::kFloat64:
      static_cast<double*>(view.data)[offset] = canonical(double{value});
      return;
    default:
      static_cast<float*>(view.data)[offset] = canonical(value);
      return;
  }
}

// Double results go to float64 unrounded, to float32 rounded once.
inline void store_result(const MutableTensorView& view, std::int64_t offset, double value) {
  if (view.dtype == DType::kFloat64) {
    static_cast<double*>(view.data)[offset] = canonical(value);
  } else {
    store_result(view, offset, static_cast<float>(value));
  }
}

}  // namespace qkv

#endif  // QKV_TENSOR_ELEMENT_H_
