// A file that appears under its name only when it is complete.
#ifndef QKV_SRC_IO_ATOMIC_FILE_H_
#define QKV_SRC_IO_ATOMIC_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "qkv/status.h"

namespace qkv::io {

// Bytes go to a temporary file ".qkv-<16 random hex digits>.tmp" in the target's directory;
// commit() brings it to the disk and renames it. Before that the target's name is untouched,
// whatever happens. The destructor removes an uncommitted temporary; only a killed process leaves
// one behind, and it may be deleted.
//
// A new file gets the permissions that the umask gives; a replaced one keeps its own (not its
// owner, access lists or hard links). If the target is a symbolic link, the file it points to is
// written and the link stays.
class AtomicFile {
 public:
  // How commit() gives the file its name when it must not replace another one. The later ways are
  // for file systems that lack the earlier ones.
  enum class Publish {
    kRename,       // renameat2(RENAME_NOREPLACE)
    kLink,         // link() fails if the name exists; then the temporary name is removed
    kPlaceholder,  // an empty file created with O_EXCL is replaced by rename()
  };

  AtomicFile() = default;
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // kFileError if the target exists and `overwrite` is false, is not a regular file, or if its
  // directory can't be written. Once `cancel` is true, writing and commit() fail with kCancelled.
  Status create(const std::string& path, bool overwrite, const std::atomic<bool>* cancel = nullptr);

  // Errors stick: after the first one all later calls return it, and commit() too.
  Status write(const void* data, std::size_t bytes);
  Status seek(std::uint64_t position);
  std::uint64_t position() const { return position_; }
  std::uint64_t size() const { return size_; }
  const Status& status() const { return status_; }
  // The path, made safe for messages.
  const std::string& label() const { return label_; }

  // `first` is the first way to try; tests choose a later one.
  Status commit(Publish first = Publish::kRename);

 private:
  Status fail(const std::string& what, int error);
  Status check_cancelled();
  Status exists_error();
  Status resolve_target(const std::string& path);
  Status check_target();
  Status open_temporary();
  // Returns 0 or an errno.
  int publish(Publish way);
  int publish_without_replacing(Publish first);
  void discard();

  std::string label_;
  std::string target_;     // with links resolved
  std::string directory_;  // of the target, with the last '/'
  std::string temporary_;  // empty once it is gone
  bool overwrite_ = false;
  const std::atomic<bool>* cancel_ = nullptr;
  bool replaces_ = false;
  unsigned mode_ = 0666;  // of the file being replaced, if there is one
  int fd_ = -1;
  std::uint64_t position_ = 0;
  std::uint64_t size_ = 0;
  Status status_;
};

}  // namespace qkv::io

#endif  // QKV_SRC_IO_ATOMIC_FILE_H_
