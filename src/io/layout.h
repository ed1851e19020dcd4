// How an array's elements lie in a file, and how they become a tensor.
#ifndef QKV_SRC_IO_LAYOUT_H_
#define QKV_SRC_IO_LAYOUT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/element_type.h"
#include "io/mapped_file.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv::io {

struct Layout {
  std::vector<std::int64_t> shape;  // any rank
  ElementType type;
  bool fortran_order = false;  // the first axis varies fastest
};

// The bytes of `shape` with `bits` an element, rounded up. False if an extent is negative or the
// size is over 2^62 bits. As in NumPy, an extent of 0 does not excuse the others: the product of
// the rest must fit too, so that nobody who multiplies extents overflows.
bool byte_count(std::span<const std::int64_t> shape, std::uint64_t bits, std::uint64_t& bytes);

// kUnsupported if a tensor can't have this type or rank. `where` begins the message.
Status check_readable(const Layout& layout, const std::string& where);

// Whether the bytes at `offset` of `file` can serve as the tensor's memory.
bool fits_in_place(const Layout& layout, const MappedFile& file, std::uint64_t offset);

// The tensor at `offset` of `file`, whose bytes the caller has checked to lie inside: the mapped
// memory itself if it fits in place, else an aligned copy in this machine's byte order.
Status tensor_at(const Layout& layout, const MappedFile& file, std::uint64_t offset,
                 const std::string& where, Tensor& tensor);

// New aligned memory for the layout, with its strides.
Status allocate_for(const Layout& layout, const std::string& where, Tensor& tensor);
// Exchanges the bytes of each element if the layout's order is not this machine's.
void swap_bytes_if_needed(const Layout& layout, Tensor& tensor);

}  // namespace qkv::io

#endif  // QKV_SRC_IO_LAYOUT_H_
