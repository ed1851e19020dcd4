// Zip archives of stored members, the same bytes for the same content.
//
// Written here rather than taken from a library: the members' data are placed at multiples of 64
// bytes, which libzip can't do, and minizip 1.1 writes a wrong directory for more than 65535
// members.
#ifndef QKV_SRC_IO_ZIP_WRITER_H_
#define QKV_SRC_IO_ZIP_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/atomic_file.h"
#include "qkv/status.h"

namespace qkv::io {

// Zip64 is used only where a number needs it. Members are dated 1980-01-01, the first day zip has.
class ZipWriter {
 public:
  // `file` is at its start and outlives the writer.
  explicit ZipWriter(AtomicFile& file) : file_(file) {}

  // A member of exactly `size` bytes; write() them, then end(). The name is UTF-8, at most 65535
  // bytes long.
  Status begin(std::string_view name, std::uint64_t size);
  Status write(const void* data, std::size_t bytes);
  Status end();
  // Writes the directory, after the last member.
  Status finish();

 private:
  AtomicFile& file_;
  std::string directory_;
  std::uint64_t count_ = 0;
  std::string name_;  // of the member that is being written
  std::uint64_t size_ = 0;
  std::uint64_t header_offset_ = 0;
  std::uint32_t crc_ = 0;
};

}  // namespace qkv::io

#endif  // QKV_SRC_IO_ZIP_WRITER_H_
