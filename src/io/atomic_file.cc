#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <random>
#include <utility>

#include "io/text.h"

namespace qkv::io {
namespace {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

// What the link at `path` points to, as a path for this process; empty with errno set on failure.
std::string read_link(const std::string& path) {
  std::array<char, 4096> buffer;
  const ssize_t length = ::readlink(path.c_str(), buffer.data(), buffer.size());
  if (length < 0) return {};
  if (static_cast<std::size_t>(length) == buffer.size()) {
    errno = ENAMETOOLONG;
    return {};
  }
  std::string target(buffer.data(), static_cast<std::size_t>(length));
  return target.starts_with('/') ? target : directory_of(path) + target;
}

// A name that nobody can guess and squat on.
std::string random_name() {
  constexpr char kHex[] = "0123456789abcdef";
  std::random_device device;
  std::string name = ".qkv-";
  for (int word = 0; word < 2; ++word) {
    unsigned bits = device();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) name += kHex[bits & 15];
  }
  return name + ".tmp";
}

// Makes the rename itself durable. A file system that can't is no reason to fail: the file is
// complete and in its place.
void sync_directory(const std::string& directory) {
  const int fd =
      ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)::fsync(fd);
  ::close(fd);
}

}  // namespace

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

Status AtomicFile::fail(const std::string& what, int error) {
  std::string advice = "; check the directory and its permissions";
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    advice = "; free some space or choose another place";
  }
  status_ = file_error(label_ + ": " + what + " (" + errno_text(error) + ")" + advice);
  discard();
  return status_;
}

Status AtomicFile::exists_error() {
  status_ = file_error(label_ + ": already exists; choose another name or allow overwriting");
  discard();
  return status_;
}

Status AtomicFile::check_cancelled() {
  if (status_.ok() && cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) {
    status_ = {StatusCode::kCancelled, label_ + ": writing was cancelled; the file is as it was"};
    discard();
  }
  return status_;
}

Status AtomicFile::create(const std::string& path, bool overwrite,
                          const std::atomic<bool>* cancel) {
  label_ = printable(path);
  overwrite_ = overwrite;
  cancel_ = cancel;
  if (path.empty() || path.find('\0') != std::string::npos) {
    status_ = invalid_argument("\"" + label_ + "\" can't name a file; choose another name");
    return status_;
  }
  if (Status status = resolve_target(path); !status.ok()) return status;
  if (Status status = check_target(); !status.ok()) return status;
  return open_temporary();
}

Status AtomicFile::resolve_target(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as the kernel
  target_ = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    struct stat info{};
    if (::lstat(target_.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) {
      directory_ = directory_of(target_);
      return {};
    }
    target_ = read_link(target_);
    if (target_.empty()) return fail("is a symbolic link that can't be followed", errno);
  }
  return fail("is a symbolic link that can't be followed", ELOOP);
}

Status AtomicFile::check_target() {
  struct stat info{};
  if (::lstat(target_.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return fail("can't be written", errno);
  }
  if (!S_ISREG(info.st_mode)) {
    status_ = file_error(label_ + ": is " +
                         (S_ISDIR(info.st_mode) ? "a directory" : "not a regular file") +
                         " and can't be replaced; choose another name");
    return status_;
  }
  if (!overwrite_) return exists_error();
  replaces_ = true;
  mode_ = info.st_mode & 0777;
  return {};
}

Status AtomicFile::open_temporary() {
  constexpr int kAttempts = 8;  // 2^64 names: even the second attempt is never needed
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string name = directory_ + random_name();
    fd_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode_);
    if (fd_ >= 0) {
      temporary_ = name;
      // The umask has had its say for a new file; a replaced file keeps its permissions.
      if (replaces_) (void)::fchmod(fd_, mode_);
      return {};
    }
    if (errno != EEXIST) break;
  }
  return fail("no file can be created beside it", errno);
}

Status AtomicFile::write(const void* data, std::size_t bytes) {
  if (!status_.ok()) return status_;
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    if (Status status = check_cancelled(); !status.ok()) return status;
    constexpr std::size_t kMaxWrite = std::size_t{8} << 20;
    const ssize_t written = ::write(fd_, next, std::min(bytes, kMaxWrite));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return fail("could not be written after " + bytes_text(position_), errno);
    }
    next += written;
    bytes -= static_cast<std::size_t>(written);
    position_ += static_cast<std::uint64_t>(written);
    size_ = std::max(size_, position_);
  }
  return {};
}

Status AtomicFile::seek(std::uint64_t position) {
  if (!status_.ok()) return status_;
  if (::lseek(fd_, static_cast<off_t>(position), SEEK_SET) < 0) {
    return fail("could not be written", errno);
  }
  position_ = position;
  return {};
}

int AtomicFile::publish(Publish way) {
  const char* from = temporary_.c_str();
  const char* to = target_.c_str();
  switch (way) {
    case Publish::kRename:
#ifdef RENAME_NOREPLACE
      return ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 ? 0 : errno;
#else
      return ENOSYS;
#endif
    case Publish::kLink:
      if (::link(from, to) != 0) return errno;
      ::unlink(from);
      return 0;
    case Publish::kPlaceholder: {
      // Nobody's file is lost: O_EXCL makes sure that the one replaced is ours. A kill between
      // these two calls leaves an empty file.
      const int fd = ::open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd < 0) return errno;
      ::close(fd);
      if (::rename(from, to) == 0) return 0;
      const int error = errno;
      ::unlink(to);
      return error;
    }
  }
  return EINVAL;
}

int AtomicFile::publish_without_replacing(Publish first) {
  int error = EINVAL;
  for (const Publish way : {Publish::kRename, Publish::kLink, Publish::kPlaceholder}) {
    if (way < first) continue;
    error = publish(way);
    // Only "this file system can't do that" leads to the next way.
    const bool lacking = error == ENOSYS || error == EINVAL || error == EPERM ||
                         error == EOPNOTSUPP || error == EMLINK;
    if (!lacking) return error;
  }
  return error;
}

Status AtomicFile::commit(Publish first) {
  if (Status status = check_cancelled(); !status.ok()) return status;
  // Without this a crash of the machine could leave the new name on an empty file.
  if (::fsync(fd_) != 0) return fail("could not be brought to the disk", errno);
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0) return fail("could not be written", errno);
  const int error = overwrite_ ? (::rename(temporary_.c_str(), target_.c_str()) == 0 ? 0 : errno)
                               : publish_without_replacing(first);
  if (error == EEXIST && !overwrite_) return exists_error();
  if (error != 0) return fail("could not be given its name", error);
  temporary_.clear();
  sync_directory(directory_);
  return {};
}

}  // namespace qkv::io
