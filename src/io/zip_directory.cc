#include "io/zip_directory.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "io/text.h"

namespace qkv::io {
namespace {

constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kEntrySignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kLocator64Signature = 0x07064b50;
constexpr std::uint64_t kLocalSize = 30;
constexpr std::uint64_t kEntrySize = 46;
constexpr std::uint64_t kEndSize = 22;
constexpr std::uint64_t kEnd64Size = 56;
constexpr std::uint64_t kLocator64Size = 20;
// A 32-bit field with this value is in the zip64 extra field.
constexpr std::uint64_t kIn64 = 0xffffffff;

Status damaged(const MappedFile& file, const std::string& what) {
  return file_error(file.label() + ": " + what +
                    "; the archive is truncated or damaged, so write it again");
}

// Little-endian numbers at fixed places. Callers check has() before they read.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t size() const { return bytes_.size(); }
  bool has(std::uint64_t offset, std::uint64_t count) const {
    return offset <= size() && count <= size() - offset;
  }
  std::uint64_t number(std::uint64_t offset, int bytes) const {
    std::uint64_t value = 0;
    for (int i = bytes; i-- > 0;) {
      value = value << 8 | static_cast<std::uint64_t>(bytes_[offset + static_cast<unsigned>(i)]);
    }
    return value;
  }
  std::uint64_t u16(std::uint64_t offset) const { return number(offset, 2); }
  std::uint64_t u32(std::uint64_t offset) const { return number(offset, 4); }
  std::uint64_t u64(std::uint64_t offset) const { return number(offset, 8); }
  std::string_view text(std::uint64_t offset, std::uint64_t count) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, count};
  }
  Bytes part(std::uint64_t offset, std::uint64_t count) const {
    return Bytes(bytes_.subspan(offset, count));
  }

 private:
  std::span<const std::byte> bytes_;
};

struct Directory {
  std::uint64_t count = 0;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

// The last record of the archive, which only a comment of at most 65535 bytes may follow.
bool find_end(const Bytes& bytes, std::uint64_t& position) {
  constexpr std::uint64_t kMaxComment = 0xffff;
  if (bytes.size() < kEndSize) return false;
  const std::uint64_t longest = std::min(bytes.size() - kEndSize, kMaxComment);
  for (std::uint64_t comment = 0; comment <= longest; ++comment) {
    position = bytes.size() - kEndSize - comment;
    if (bytes.u32(position) == kEndSignature && bytes.u16(position + 20) == comment) return true;
  }
  return false;
}

// Follows the zip64 locator, if one stands before the end record.
Status find_directory(const MappedFile& file, const Bytes& bytes, Directory& directory) {
  std::uint64_t end = 0;
  if (!find_end(bytes, end)) {
    return damaged(file, "has no zip directory at its end, so it is no whole .npz archive");
  }
  std::uint64_t disks = bytes.u32(end + 4);  // this disk, the directory's disk
  directory = {bytes.u16(end + 10), bytes.u32(end + 16), bytes.u32(end + 12)};
  const bool zip64 =
      end >= kLocator64Size && bytes.u32(end - kLocator64Size) == kLocator64Signature;
  if (zip64) {
    end = bytes.u64(end - kLocator64Size + 8);
    if (!bytes.has(end, kEnd64Size) || bytes.u32(end) != kEnd64Signature) {
      return damaged(file, "its zip64 directory is not at byte " + std::to_string(end));
    }
    disks = bytes.u64(end + 16);
    directory = {bytes.u64(end + 32), bytes.u64(end + 48), bytes.u64(end + 40)};
  }
  if (disks != 0) return damaged(file, "is one part of an archive of several, which is not read");
  if (!bytes.has(directory.begin, directory.size) || directory.begin + directory.size > end) {
    return damaged(file, "its zip directory of " + bytes_text(directory.size) + " at byte " +
                             std::to_string(directory.begin) + " is not before byte " +
                             std::to_string(end));
  }
  return {};
}

// Takes the sizes and the offset that did not fit 32 bits from the extra field. False if they are
// not there.
bool apply_zip64(const Bytes& extra, ZipEntry& entry) {
  constexpr std::uint64_t kZip64Id = 1;
  std::uint64_t* wanted[] = {&entry.size, &entry.compressed_size, &entry.header_offset};
  const bool needed = std::any_of(std::begin(wanted), std::end(wanted),
                                  [](auto* value) { return *value == kIn64; });
  if (!needed) return true;
  std::uint64_t at = 0;
  while (extra.has(at, 4)) {
    const std::uint64_t id = extra.u16(at);
    const std::uint64_t end = at + 4 + extra.u16(at + 2);
    if (end > extra.size()) return false;
    if (id == kZip64Id) {
      std::uint64_t next = at + 4;
      for (std::uint64_t* value : wanted) {
        if (*value != kIn64) continue;
        if (next + 8 > end) return false;
        *value = extra.u64(next);
        next += 8;
      }
      return true;
    }
    at = end;
  }
  return false;
}

// Reads the entry at `at` of the directory's bytes and moves `at` behind it. False if it is cut.
bool read_entry(const Bytes& bytes, std::uint64_t& at, ZipEntry& entry) {
  if (!bytes.has(at, kEntrySize) || bytes.u32(at) != kEntrySignature) return false;
  const std::uint64_t name = bytes.u16(at + 28);
  const std::uint64_t extra = bytes.u16(at + 30);
  const std::uint64_t comment = bytes.u16(at + 32);
  if (!bytes.has(at + kEntrySize, name + extra + comment)) return false;
  entry.encrypted = (bytes.u16(at + 8) & 1) != 0;
  entry.method = bytes.u16(at + 10);
  entry.crc = static_cast<std::uint32_t>(bytes.u32(at + 16));
  entry.compressed_size = bytes.u32(at + 20);
  entry.size = bytes.u32(at + 24);
  entry.header_offset = bytes.u32(at + 42);
  entry.name = bytes.text(at + kEntrySize, name);
  const Bytes extra_bytes = bytes.part(at + kEntrySize + name, extra);
  at += kEntrySize + name + extra + comment;
  return apply_zip64(extra_bytes, entry);
}

}  // namespace

Status read_zip_directory(const MappedFile& file, std::vector<ZipEntry>& entries) {
  Directory directory;
  const Bytes all(file.bytes());
  if (Status status = find_directory(file, all, directory); !status.ok()) return status;
  const Bytes bytes = all.part(directory.begin, directory.size);
  std::uint64_t at = 0;
  // Nothing is reserved: the count is what the archive claims, the entries are what it has.
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    ZipEntry entry;
    if (!read_entry(bytes, at, entry)) {
      return damaged(file, "its zip directory promises " + std::to_string(directory.count) +
                               " members but entry " + std::to_string(i + 1) + " is broken");
    }
    if (!is_utf8(entry.name) || entry.name.find('\0') != std::string::npos) {
      return file_error(file.label() + ": the member name " + in_quotes(entry.name) +
                        " is not UTF-8 or holds a NUL; write the archive again with another name");
    }
    entries.push_back(std::move(entry));
  }
  if (at == bytes.size()) return {};
  return damaged(file, "its zip directory holds " + std::to_string(bytes.size() - at) +
                           " bytes more than its " + std::to_string(directory.count) + " members");
}

Status find_zip_data(const MappedFile& file, const ZipEntry& entry, std::uint64_t& offset) {
  const Bytes bytes(file.bytes());
  const std::uint64_t at = entry.header_offset;
  const std::string member = "its member " + in_quotes(entry.name);
  if (!bytes.has(at, kLocalSize) || bytes.u32(at) != kLocalSignature) {
    return damaged(file, member + " has no header at byte " + std::to_string(at));
  }
  const std::uint64_t name = bytes.u16(at + 26);
  const std::uint64_t extra = bytes.u16(at + 28);
  if (!bytes.has(at + kLocalSize, name + extra) || bytes.u16(at + 8) != entry.method ||
      bytes.text(at + kLocalSize, name) != entry.name) {
    return damaged(file, member + " has a header that contradicts the zip directory");
  }
  offset = at + kLocalSize + name + extra;
  if (bytes.has(offset, entry.compressed_size)) return {};
  return damaged(file, member + " takes " + bytes_text(entry.compressed_size) + " from byte " +
                           std::to_string(offset) + " on, but the file has only " +
                           std::to_string(bytes.size()));
}

}  // namespace qkv::io
