// How the three formats spell element types.
#ifndef QKV_SRC_IO_ELEMENT_TYPE_H_
#define QKV_SRC_IO_ELEMENT_TYPE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "qkv/tensor.h"

namespace qkv::io {

// An element type as a file names it.
struct ElementType {
  bool supported = false;
  DType dtype = DType::kFloat32;  // if supported
  bool swapped = false;           // stored in the other byte order than this machine's
  std::uint64_t bits = 0;         // of one element; 0 if unknown, and then no size can be checked
  std::string refusal;            // if not supported: what it is and what to do instead
};

// From an .npy header's 'descr': "<f4", "|b1". A structured type is its whole text: "[('x', ...".
ElementType npy_element_type(std::string_view descr);
// "<f4" for float32; empty for bfloat16, which .npy has not.
std::string_view npy_name(DType dtype);

// From a .safetensors header's "dtype": "F32", "BF16".
ElementType safetensors_element_type(std::string_view dtype);
std::string_view safetensors_name(DType dtype);

}  // namespace qkv::io

#endif  // QKV_SRC_IO_ELEMENT_TYPE_H_
