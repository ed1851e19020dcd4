// The header of the .npy format, versions 1.0, 2.0 and 3.0:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#ifndef QKV_SRC_IO_NPY_HEADER_H_
#define QKV_SRC_IO_NPY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv::io {

struct NpyHeader {
  std::string descr;  // the type's text: "<f4", or the whole literal of a structured type
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
// Magic, version and a 4-byte length: enough to know how long the header is.
inline constexpr std::size_t kNpyPreamble = 12;

// The bytes before the data, from the first kNpyPreamble bytes (or all there are). At most 1 MiB.
// `where` begins every message.
Status npy_header_size(std::span<const std::byte> start, const std::string& where,
                       std::uint64_t& size);

// Parses a whole header, the `size` bytes that npy_header_size said. Strict: it takes the Python
// literal that NumPy writes (keys in any order, any spaces, both kinds of quotes, a trailing comma,
// Python 2's "3L") and nothing else; each key exactly once; padding by spaces and newlines only.
Status parse_npy_header(std::span<const std::byte> header, const std::string& where,
                        NpyHeader& result);

// The header NumPy writes for a row-major array of this type, byte for byte; 128 bytes. `dtype` is
// not bfloat16; at most 4 extents, of less than 2^62 bits together.
std::string format_npy_header(DType dtype, std::span<const std::int64_t> shape);

}  // namespace qkv::io

#endif  // QKV_SRC_IO_NPY_HEADER_H_
