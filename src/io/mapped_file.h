// The bytes of a file, mapped read-only.
#ifndef QKV_SRC_IO_MAPPED_FILE_H_
#define QKV_SRC_IO_MAPPED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "qkv/status.h"

namespace qkv::io {

// Copies share the mapping; it lives as long as one of them, or a tensor that holds `storage()`.
//
// Limit: if another program shortens the file while it is mapped, touching the lost pages ends the
// process with SIGBUS, as with every use of mmap. Replacing the file by rename (what io::write
// does) is safe: the mapping keeps the old file.
class MappedFile {
 public:
  MappedFile() = default;

  // kFileError if `path` is missing, unreadable, empty or not a regular file. Never blocks, also
  // not on a FIFO.
  static Status open(const std::string& path, MappedFile& file);

  // A copy of `bytes` on the heap under a name, so that tests and fuzzers can hand over bytes which
  // a checker guards to the byte.
  static MappedFile from_memory(const std::string& path, std::span<const std::byte> bytes);

  // The path, made safe for messages.
  const std::string& label() const { return label_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::uint64_t size() const { return bytes_.size(); }
  const std::shared_ptr<void>& storage() const { return storage_; }

 private:
  std::string label_;
  std::shared_ptr<void> storage_;
  std::span<const std::byte> bytes_;
};

}  // namespace qkv::io

#endif  // QKV_SRC_IO_MAPPED_FILE_H_
