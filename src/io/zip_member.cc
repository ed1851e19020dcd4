#include "io/zip_member.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "io/text.h"

namespace qkv::io {

struct ZipMember::Inflater {
  z_stream stream{};
  bool usable = true;  // until the end or an error

  Inflater() {
    // Negative: raw deflate data, without the header of a .gz or zlib stream.
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

ZipMember::ZipMember(const ZipEntry& entry, std::span<const std::byte> data, std::string where)
    : where_(std::move(where)), data_(data), size_(entry.size), expected_crc_(entry.crc) {
  if (entry.method == kZipDeflated) inflater_ = std::make_unique<Inflater>();
}

ZipMember::~ZipMember() = default;

std::size_t ZipMember::next(std::byte* target, std::size_t bytes) {
  if (inflater_ == nullptr) {
    const std::size_t count = std::min(bytes, data_.size());
    if (count > 0) std::memcpy(target, data_.data(), count);
    data_ = data_.subspan(count);
    return count;
  }
  constexpr std::size_t kMaxChunk = std::numeric_limits<uInt>::max();
  z_stream& stream = inflater_->stream;
  std::size_t filled = 0;
  while (filled < bytes && inflater_->usable) {
    const auto input = static_cast<uInt>(std::min(data_.size(), kMaxChunk));
    const auto room = static_cast<uInt>(std::min(bytes - filled, kMaxChunk));
    // zlib only reads the input, whatever its old-fashioned type says.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(data_.data()));
    stream.avail_in = input;
    stream.next_out = reinterpret_cast<Bytef*>(target + filled);
    stream.avail_out = room;
    // Z_BUF_ERROR, no progress, is what the end of truncated data looks like.
    inflater_->usable = inflate(&stream, Z_NO_FLUSH) == Z_OK;
    data_ = data_.subspan(input - stream.avail_in);
    filled += room - stream.avail_out;
  }
  return filled;
}

Status ZipMember::read(void* target, std::uint64_t bytes) {
  auto* start = static_cast<std::byte*>(target);
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;  // the checksum reads it from the cache
  for (std::uint64_t left = bytes; left > 0;) {
    const auto wanted = static_cast<std::size_t>(std::min(left, kChunk));
    const std::size_t got = next(start, wanted);
    crc_ = static_cast<std::uint32_t>(crc32_z(crc_, reinterpret_cast<const Bytef*>(start), got));
    done_ += got;
    start += got;
    left -= got;
    if (got == wanted) continue;
    return file_error(where_ + ": ends or can't be decompressed after " + bytes_text(done_) +
                      " of " + std::to_string(size_) +
                      "; the archive is truncated or damaged, so write it again");
  }
  return {};
}

Status ZipMember::finish() {
  std::byte spare{};
  if (done_ == size_ && next(&spare, 1) != 0) {
    return file_error(where_ + ": holds more than the " + bytes_text(size_) +
                      " it claims; the archive is damaged, so write it again");
  }
  if (done_ == size_ && crc_ == expected_crc_) return {};
  return file_error(where_ +
                    ": has the wrong checksum (CRC-32); the archive is damaged, so write "
                    "it again");
}

}  // namespace qkv::io
