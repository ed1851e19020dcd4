// The content of a zip member, decompressed with zlib.
#ifndef QKV_SRC_IO_ZIP_MEMBER_H_
#define QKV_SRC_IO_ZIP_MEMBER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/zip_directory.h"
#include "qkv/status.h"

namespace qkv::io {

// Reads a member from its start. `entry.method` is kZipStored or kZipDeflated.
class ZipMember {
 public:
  // `data` are the compressed bytes, which must stay; `where` begins every message.
  ZipMember(const ZipEntry& entry, std::span<const std::byte> data, std::string where);
  ~ZipMember();
  ZipMember(const ZipMember&) = delete;
  ZipMember& operator=(const ZipMember&) = delete;

  // The next `bytes` bytes; kFileError if the member ends before, or can't be decompressed.
  Status read(void* target, std::uint64_t bytes);
  // After the last byte: kFileError unless the data end here and the CRC-32 is right.
  Status finish();

 private:
  struct Inflater;
  // Fills as much of the target as the data allow.
  std::size_t next(std::byte* target, std::size_t bytes);

  std::string where_;
  std::span<const std::byte> data_;  // not yet taken
  std::uint64_t size_;               // of the whole member
  std::uint64_t done_ = 0;
  std::uint32_t expected_crc_;
  std::uint32_t crc_ = 0;
  std::unique_ptr<Inflater> inflater_;  // null for a stored member
};

}  // namespace qkv::io

#endif  // QKV_SRC_IO_ZIP_MEMBER_H_
