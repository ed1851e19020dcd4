#include "io/layout.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "io/text.h"

namespace qkv::io {
namespace {

MutableTensorView view_of(const Layout& layout, void* data) {
  MutableTensorView view(data, layout.type.dtype, std::span<const std::int64_t>(layout.shape));
  if (layout.fortran_order) {
    std::int64_t stride = 1;
    for (int axis = 0; axis < view.rank; ++axis) {
      view.strides[axis] = stride;
      stride *= view.extents[axis];
    }
  }
  return view;
}

void reverse_each(std::byte* data, std::size_t count, std::size_t size) {
  for (std::size_t i = 0; i < count; ++i) std::reverse(data + i * size, data + (i + 1) * size);
}

}  // namespace

bool byte_count(std::span<const std::int64_t> shape, std::uint64_t bits, std::uint64_t& bytes) {
  constexpr std::uint64_t kMaxBits = std::uint64_t{1} << 62;
  if (bits > kMaxBits) return false;
  bool empty = false;
  std::uint64_t total = bits;
  for (std::int64_t extent : shape) {
    if (extent < 0) return false;
    if (extent == 0) {
      empty = true;
      continue;
    }
    if (total > kMaxBits / static_cast<std::uint64_t>(extent)) return false;
    total *= static_cast<std::uint64_t>(extent);
  }
  bytes = empty ? 0 : (total + 7) / 8;
  return true;
}

Status check_readable(const Layout& layout, const std::string& where) {
  if (!layout.type.supported) return unsupported(where + ": " + layout.type.refusal);
  if (layout.shape.size() > static_cast<std::size_t>(kMaxRank)) {
    return unsupported(where + ": has rank " + std::to_string(layout.shape.size()) + " (shape " +
                       shape_text(layout.shape) +
                       "), but a tensor has at most 4 dimensions; reshape it");
  }
  return {};
}

bool fits_in_place(const Layout& layout, const MappedFile& file, std::uint64_t offset) {
  const auto address = reinterpret_cast<std::uintptr_t>(file.bytes().data()) + offset;
  return !layout.type.swapped && address % size_of(layout.type.dtype) == 0;
}

Status allocate_for(const Layout& layout, const std::string& where, Tensor& tensor) {
  Tensor memory;
  Status status = allocate(layout.type.dtype, layout.shape, memory);
  if (!status.ok()) return {status.code(), where + ": " + status.message()};
  // The memory is shared with the new view, which only has other strides.
  void* data = memory.view().data;
  auto storage = std::make_shared<Tensor>(std::move(memory));
  tensor = Tensor(std::shared_ptr<void>(storage, data), view_of(layout, data));
  return {};
}

void swap_bytes_if_needed(const Layout& layout, Tensor& tensor) {
  if (!layout.type.swapped) return;
  reverse_each(tensor.data<std::byte>(), static_cast<std::size_t>(tensor.size()),
               size_of(layout.type.dtype));
}

Status tensor_at(const Layout& layout, const MappedFile& file, std::uint64_t offset,
                 const std::string& where, Tensor& tensor) {
  const std::byte* start = file.bytes().data() + offset;
  if (fits_in_place(layout, file, offset)) {
    // The mapping is read-only, which Tensor's type can't say; qkv/io.h does.
    void* data = const_cast<std::byte*>(start);
    tensor = Tensor(file.storage(), view_of(layout, data));
    return {};
  }
  Tensor copy;
  if (Status status = allocate_for(layout, where, copy); !status.ok()) return status;
  const std::size_t bytes = static_cast<std::size_t>(copy.size()) * size_of(layout.type.dtype);
  if (bytes > 0) std::memcpy(copy.data<std::byte>(), start, bytes);
  swap_bytes_if_needed(layout, copy);
  tensor = std::move(copy);
  return {};
}

}  // namespace qkv::io
