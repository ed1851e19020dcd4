#include "io/zip_writer.h"

#include <zlib.h>

#include <algorithm>

namespace qkv::io {
namespace {

constexpr std::uint64_t kMax16 = 0xffff;
constexpr std::uint64_t kMax32 = 0xffffffff;
constexpr std::uint64_t kZip64Id = 1;
constexpr std::uint64_t kDate = 0x0021;  // 1980-01-01; the time is 0

void put(std::string& bytes, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

// Where a number is in the zip64 field, its old place has the largest value.
std::uint64_t clipped(std::uint64_t value) { return std::min(value, kMax32); }

std::uint64_t version_needed(bool zip64) { return zip64 ? 45 : 20; }

std::uint64_t flags_for(std::string_view name) {
  constexpr std::uint64_t kUtf8 = 0x800;
  const bool ascii = std::all_of(name.begin(), name.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return ascii ? 0 : kUtf8;
}

// An extra field that moves the data behind it to a multiple of 64 bytes: id, length, the alignment
// and zeros, as zipalign writes it. Readers skip fields they don't know.
std::string alignment_field(std::uint64_t position) {
  constexpr std::uint64_t kAlignment = 64;
  constexpr std::uint64_t kId = 0xd935;
  constexpr std::uint64_t kSmallest = 6;
  std::uint64_t size = kAlignment - position % kAlignment;
  if (size == kAlignment) return {};
  if (size < kSmallest) size += kAlignment;
  std::string field;
  put(field, kId, 2);
  put(field, size - 4, 2);
  put(field, kAlignment, 2);
  field.resize(size, '\0');
  return field;
}

}  // namespace

Status ZipWriter::begin(std::string_view name, std::uint64_t size) {
  name_ = name;
  size_ = size;
  header_offset_ = file_.position();
  crc_ = 0;
  constexpr std::uint64_t kHeader = 30;
  std::string extra;
  const bool zip64 = size >= kMax32;
  if (zip64) {
    put(extra, kZip64Id, 2);
    put(extra, 16, 2);
    put(extra, size, 8);  // the full size, and the stored one
    put(extra, size, 8);
  }
  extra += alignment_field(header_offset_ + kHeader + name.size() + extra.size());
  std::string header = "PK\3\4";
  put(header, version_needed(zip64), 2);
  put(header, flags_for(name), 2);
  put(header, 0, 2);  // stored
  put(header, kDate << 16, 4);
  put(header, 0, 4);  // the CRC-32: end() knows it
  put(header, clipped(size), 4);
  put(header, clipped(size), 4);
  put(header, name.size(), 2);
  put(header, extra.size(), 2);
  header += name;
  header += extra;
  return file_.write(header.data(), header.size());
}

Status ZipWriter::write(const void* data, std::size_t bytes) {
  crc_ = static_cast<std::uint32_t>(crc32_z(crc_, static_cast<const Bytef*>(data), bytes));
  return file_.write(data, bytes);
}

Status ZipWriter::end() {
  constexpr std::uint64_t kCrcOffset = 14;
  constexpr std::uint64_t kMadeBy = 3 << 8 | 45;         // Unix, zip 4.5
  constexpr std::uint64_t kAttributes = 0100644u << 16;  // a regular file, rw-r--r--
  std::string crc;
  put(crc, crc_, 4);
  const std::uint64_t behind = file_.position();
  Status status = file_.seek(header_offset_ + kCrcOffset);
  if (status.ok()) status = file_.write(crc.data(), crc.size());
  if (status.ok()) status = file_.seek(behind);
  if (!status.ok()) return status;

  std::string numbers;  // for the zip64 field, in the order that the format prescribes
  if (size_ >= kMax32) {
    put(numbers, size_, 8);
    put(numbers, size_, 8);
  }
  if (header_offset_ >= kMax32) put(numbers, header_offset_, 8);
  directory_ += "PK\1\2";
  put(directory_, kMadeBy, 2);
  put(directory_, version_needed(!numbers.empty()), 2);
  put(directory_, flags_for(name_), 2);
  put(directory_, 0, 2);  // stored
  put(directory_, kDate << 16, 4);
  put(directory_, crc_, 4);
  put(directory_, clipped(size_), 4);
  put(directory_, clipped(size_), 4);
  put(directory_, name_.size(), 2);
  put(directory_, numbers.empty() ? 0 : numbers.size() + 4, 2);
  put(directory_, 0, 2);  // no comment
  put(directory_, 0, 4);  // the first disk; no internal attributes
  put(directory_, kAttributes, 4);
  put(directory_, clipped(header_offset_), 4);
  directory_ += name_;
  if (!numbers.empty()) {
    put(directory_, kZip64Id, 2);
    put(directory_, numbers.size(), 2);
    directory_ += numbers;
  }
  ++count_;
  return {};
}

Status ZipWriter::finish() {
  const std::uint64_t begin = file_.position();
  const std::uint64_t size = directory_.size();
  std::string end;
  if (count_ >= kMax16 || size >= kMax32 || begin >= kMax32) {
    end += "PK\6\6";
    put(end, 44, 8);  // the bytes that follow in this record
    put(end, 45, 2);
    put(end, 45, 2);
    put(end, 0, 8);  // the first disk, twice
    put(end, count_, 8);
    put(end, count_, 8);
    put(end, size, 8);
    put(end, begin, 8);
    end += "PK\6\7";
    put(end, 0, 4);
    put(end, begin + size, 8);  // of the record above
    put(end, 1, 4);             // one disk in all
  }
  end += "PK\5\6";
  put(end, 0, 4);
  put(end, std::min(count_, kMax16), 2);
  put(end, std::min(count_, kMax16), 2);
  put(end, clipped(size), 4);
  put(end, clipped(begin), 4);
  put(end, 0, 2);  // no comment
  if (Status status = file_.write(directory_.data(), size); !status.ok()) return status;
  return file_.write(end.data(), end.size());
}

}  // namespace qkv::io
