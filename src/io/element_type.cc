#include "io/element_type.h"

#include <bit>
#include <cstddef>
#include <utility>

#include "io/text.h"

namespace qkv::io {
namespace {

// Files are little-endian unless they say otherwise, and writing copies memory as it is.
static_assert(std::endian::native == std::endian::little, "src/io needs a little-endian machine");

struct Names {
  DType dtype;
  std::string_view npy;
  std::string_view safetensors;
};

// In the order of DType, so that an index is a type.
constexpr Names kNames[] = {
    {DType::kFloat32, "<f4", "F32"}, {DType::kFloat16, "<f2", "F16"},
    {DType::kBFloat16, "", "BF16"},  {DType::kFloat64, "<f8", "F64"},
    {DType::kBool, "|b1", "BOOL"},   {DType::kUInt8, "|u1", "U8"},
    {DType::kInt8, "|i1", "I8"},     {DType::kUInt16, "<u2", "U16"},
    {DType::kInt16, "<i2", "I16"},   {DType::kUInt32, "<u4", "U32"},
    {DType::kInt32, "<i4", "I32"},   {DType::kUInt64, "<u8", "U64"},
    {DType::kInt64, "<i8", "I64"},
};

// Types of the reference implementation of .safetensors that qkv has not, with their bits, so that
// a file which holds one is still checked whole.
struct ForeignType {
  std::string_view name;
  std::uint64_t bits;
};
constexpr ForeignType kForeign[] = {
    {"F4", 4},      {"F6_E2M3", 6},     {"F6_E3M2", 6},     {"F8_E5M2", 8}, {"F8_E4M3", 8},
    {"F8_E8M0", 8}, {"F8_E5M2FNUZ", 8}, {"F8_E4M3FNUZ", 8}, {"C64", 64},
};

ElementType refused(std::string reason, std::uint64_t bits) {
  ElementType type;
  type.bits = bits;
  type.refusal = std::move(reason);
  return type;
}

// The digits at the end of "<f4", at most 9 of them; false if there is anything else.
bool item_size(std::string_view digits, std::uint64_t& size) {
  if (digits.empty() || digits.size() > 9) return false;
  size = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return false;
    size = size * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return true;
}

ElementType npy_refusal(char kind, std::uint64_t size, const std::string& name) {
  constexpr std::uint64_t kBits = 8;
  switch (kind) {
    case 'c':
      return refused(name +
                         " holds complex numbers, which qkv does not have; save the real and the "
                         "imaginary part as two arrays",
                     size * kBits);
    case 'V':
      return refused(name +
                         " holds raw bytes without a type (bfloat16 is not an .npy type); save "
                         "bfloat16 as .safetensors",
                     size * kBits);
    case 'U':
      return refused(name + " holds strings; save an array of numbers", size * 4 * kBits);
    case 'S':
    case 'a':
      return refused(name + " holds strings; save an array of numbers", size * kBits);
    case 'O':  // a pickle of unknown length
      return refused(name + " holds Python objects; save an array of numbers", 0);
    case 'f':
      return refused(name +
                         " holds extended floating point numbers, which qkv does not have; convert "
                         "them to float32 or float64",
                     size * kBits);
    default:
      return refused(name +
                         " is an element type that qkv does not have; convert it to float32, for "
                         "example",
                     0);
  }
}

}  // namespace

ElementType npy_element_type(std::string_view descr) {
  const std::string name = in_quotes(descr);
  if (!descr.empty() && (descr[0] == '[' || descr[0] == '(')) {
    return refused(name + " is a structured type; save each of its fields as an array", 0);
  }
  const bool prefixed = !descr.empty() && (descr[0] == '<' || descr[0] == '>' || descr[0] == '|');
  if (!prefixed || descr.size() < 2) return npy_refusal('?', 0, name);
  const char kind = descr[1];
  std::uint64_t size = 0;
  if (!item_size(descr.substr(2), size)) {
    return npy_refusal(kind == 'O' ? 'O' : '?', 0, name);  // "|O" alone has no digits
  }
  for (const Names& names : kNames) {
    if (names.npy.empty() || names.npy[1] != kind || size_of(names.dtype) != size) continue;
    // NumPy writes neither "<f04" nor "|f4", which has no byte order where one is needed.
    if (descr.size() != 3 || (size > 1 && descr[0] == '|')) return npy_refusal('?', 0, name);
    ElementType type;
    type.supported = true;
    type.dtype = names.dtype;
    type.swapped = descr[0] == '>' && size > 1;
    type.bits = size * 8;
    return type;
  }
  return npy_refusal(kind, size, name);
}

std::string_view npy_name(DType dtype) { return kNames[static_cast<std::size_t>(dtype)].npy; }

ElementType safetensors_element_type(std::string_view dtype) {
  for (const Names& names : kNames) {
    if (names.safetensors != dtype) continue;
    ElementType type;
    type.supported = true;
    type.dtype = names.dtype;
    type.bits = size_of(names.dtype) * 8;
    return type;
  }
  const std::string reason =
      in_quotes(dtype) +
      " is an element type that qkv does not have; convert it to F32, F16 or "
      "BF16, for example";
  for (const ForeignType& foreign : kForeign) {
    if (foreign.name == dtype) return refused(reason, foreign.bits);
  }
  return refused(reason, 0);
}

std::string_view safetensors_name(DType dtype) {
  return kNames[static_cast<std::size_t>(dtype)].safetensors;
}

}  // namespace qkv::io
