#include "io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "io/text.h"

namespace qkv::io {
namespace {

// Closes a descriptor at the end of a scope; a mapping does not need it.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Status check_kind(const struct stat& info, const std::string& label) {
  if (S_ISDIR(info.st_mode)) return file_error(label + ": is a directory; name a file in it");
  if (!S_ISREG(info.st_mode)) {
    return file_error(label +
                      ": is not a regular file (a pipe, socket or device), so it can't be "
                      "mapped; save the data to a file first");
  }
  if (info.st_size == 0) {
    return file_error(label + ": is empty (0 bytes); write it again");
  }
  return {};
}

}  // namespace

Status MappedFile::open(const std::string& path, MappedFile& file) {
  MappedFile result;
  result.label_ = printable(path);
  if (path.find('\0') != std::string::npos) {
    return invalid_argument(result.label_ + ": the path holds a NUL character; remove it");
  }
  // O_NONBLOCK: opening a FIFO that nobody writes would wait for ever.
  const Descriptor descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (descriptor.fd < 0) {
    return file_error(result.label_ + ": can't be opened (" + errno_text(errno) +
                      "); check the name and the permissions");
  }
  struct stat info{};
  if (::fstat(descriptor.fd, &info) != 0) {
    return file_error(result.label_ + ": can't be examined (" + errno_text(errno) +
                      "); check the file system");
  }
  if (Status status = check_kind(info, result.label_); !status.ok()) return status;
  const auto size = static_cast<std::size_t>(info.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.fd, 0);
  if (memory == MAP_FAILED) {
    return file_error(result.label_ + ": can't be mapped (" + errno_text(errno) +
                      "); copy it to a local disk, or raise the limit of the address space");
  }
  result.storage_ = std::shared_ptr<void>(memory, [size](void* start) { ::munmap(start, size); });
  result.bytes_ = {static_cast<const std::byte*>(memory), size};
  file = std::move(result);
  return {};
}

MappedFile MappedFile::from_memory(const std::string& path, std::span<const std::byte> bytes) {
  MappedFile file;
  file.label_ = printable(path);
  void* memory = std::malloc(bytes.size());
  if (memory == nullptr && !bytes.empty()) throw std::bad_alloc();
  file.storage_ = std::shared_ptr<void>(memory, std::free);
  if (!bytes.empty()) std::memcpy(memory, bytes.data(), bytes.size());
  file.bytes_ = {static_cast<const std::byte*>(memory), bytes.size()};
  return file;
}

}  // namespace qkv::io
