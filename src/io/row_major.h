// A view's elements as one row-major stream of bytes.
#ifndef QKV_SRC_IO_ROW_MAJOR_H_
#define QKV_SRC_IO_ROW_MAJOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv::io {

using ChunkSink = std::function<Status(const void* data, std::size_t bytes)>;

// Hands the elements to `sink` in row-major order, at most 16 MiB at a time; stops at its first
// error. Needs 1 MiB of memory whatever the strides are. Booleans become 0 or 1, as NumPy and
// safetensors expect them.
Status for_each_chunk(const TensorView& view, const ChunkSink& sink);

inline std::span<const std::int64_t> shape_of(const TensorView& view) {
  return std::span(view.extents).first(static_cast<std::size_t>(view.rank));
}

}  // namespace qkv::io

#endif  // QKV_SRC_IO_ROW_MAJOR_H_
