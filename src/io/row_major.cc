#include "io/row_major.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace qkv::io {
namespace {

constexpr std::size_t kDirectChunk = std::size_t{16} << 20;
constexpr std::size_t kGatherChunk = std::size_t{1} << 20;

bool is_row_major(const TensorView& view) {
  std::int64_t stride = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    // The stride of an axis with one element is never used.
    if (view.extents[axis] != 1 && view.strides[axis] != stride) return false;
    stride *= view.extents[axis];
  }
  return true;
}

Status pass_directly(const std::byte* data, std::size_t bytes, const ChunkSink& sink) {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t chunk = std::min(bytes - done, kDirectChunk);
    if (Status status = sink(data + done, chunk); !status.ok()) return status;
    done += chunk;
  }
  return {};
}

template <std::size_t kSize>
void gather(const std::byte* source, std::int64_t stride_bytes, std::size_t count,
            std::byte* target) {
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(target, source, kSize);
    source += stride_bytes;
    target += kSize;
  }
}

void gather_row(const std::byte* source, std::int64_t stride_bytes, std::size_t count, DType dtype,
                std::byte* target) {
  if (dtype == DType::kBool) {
    for (std::size_t i = 0; i < count; ++i) {
      target[i] = *source == std::byte{0} ? std::byte{0} : std::byte{1};
      source += stride_bytes;
    }
    return;
  }
  switch (size_of(dtype)) {
    case 1:
      return gather<1>(source, stride_bytes, count, target);
    case 2:
      return gather<2>(source, stride_bytes, count, target);
    case 4:
      return gather<4>(source, stride_bytes, count, target);
    default:
      return gather<8>(source, stride_bytes, count, target);
  }
}

// Walks the rows (the last axis) of a view in row-major order and collects them in a buffer.
class Gatherer {
 public:
  Gatherer(const TensorView& view, const ChunkSink& sink)
      : view_(view), sink_(sink), size_(size_of(view.dtype)), buffer_(kGatherChunk) {}

  Status run() {
    Extents index{};
    do {
      if (Status status = row(index); !status.ok()) return status;
    } while (next(index));
    return filled_ == 0 ? Status() : sink_(buffer_.data(), filled_);
  }

 private:
  int last() const { return view_.rank - 1; }

  bool next(Extents& index) const {
    for (int axis = last() - 1; axis >= 0; --axis) {
      if (++index[axis] < view_.extents[axis]) return true;
      index[axis] = 0;
    }
    return false;
  }

  Status row(const Extents& index) {
    const auto element = static_cast<std::int64_t>(size_);
    std::int64_t offset = 0;
    for (int axis = 0; axis < last(); ++axis) offset += index[axis] * view_.strides[axis];
    // A scalar is a row of one element.
    const std::int64_t count = view_.rank == 0 ? 1 : view_.extents[last()];
    const std::int64_t stride = (view_.rank == 0 ? 0 : view_.strides[last()]) * element;
    const std::byte* source = static_cast<const std::byte*>(view_.data) + offset * element;
    for (std::int64_t done = 0; done < count;) {
      const auto room = static_cast<std::int64_t>((buffer_.size() - filled_) / size_);
      const std::int64_t now = std::min(room, count - done);
      gather_row(source + done * stride, stride, static_cast<std::size_t>(now), view_.dtype,
                 buffer_.data() + filled_);
      filled_ += static_cast<std::size_t>(now) * size_;
      done += now;
      if (filled_ < buffer_.size()) continue;
      if (Status status = sink_(buffer_.data(), filled_); !status.ok()) return status;
      filled_ = 0;
    }
    return {};
  }

  const TensorView& view_;
  const ChunkSink& sink_;
  std::size_t size_;
  std::vector<std::byte> buffer_;
  std::size_t filled_ = 0;
};

}  // namespace

Status for_each_chunk(const TensorView& view, const ChunkSink& sink) {
  if (view.size() == 0) return {};
  if (is_row_major(view) && view.dtype != DType::kBool) {
    return pass_directly(static_cast<const std::byte*>(view.data),
                         static_cast<std::size_t>(view.size()) * size_of(view.dtype), sink);
  }
  return Gatherer(view, sink).run();
}

}  // namespace qkv::io
