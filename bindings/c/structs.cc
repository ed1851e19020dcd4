#include "structs.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "qkv/contract.h"

namespace qkv::c {
namespace {

// No struct comes near this; a larger size is memory that nobody initialised.
constexpr std::uint32_t kMaxSize = 4096;

// Fields come in units of a pointer, or of 8 bytes, so a size that any header has is a multiple.
Status read_size(const char* name, const void* given, std::uint32_t& size) {
  std::memcpy(&size, given, sizeof(size));
  if (size >= 8 && size <= kMaxSize && size % sizeof(void*) == 0) return {};
  return invalid_argument(std::string(name) + ": struct_size " + std::to_string(size) +
                          " is the size of no such struct; set all fields to 0 and struct_size to "
                          "its sizeof");
}

}  // namespace

Status read_struct(const char* name, const void* given, void* read, std::size_t size) {
  if (given == nullptr) return {};
  std::uint32_t given_size = 0;
  if (Status s = read_size(name, given, given_size); !s.ok()) return s;
  const auto* bytes = static_cast<const unsigned char*>(given);
  for (std::size_t i = size; i < given_size; ++i) {
    if (bytes[i] == 0) continue;
    return unsupported(std::string(name) + ": a field at byte " + std::to_string(i) +
                       " is set that this library, version " + std::string(version()) +
                       ", does not know; use a newer library or leave the field 0");
  }
  std::memcpy(read, given, std::min<std::size_t>(size, given_size));
  return {};
}

Status write_struct(const char* name, const void* filled, void* given, std::size_t size) {
  if (given == nullptr)
    return invalid_argument(std::string(name) + ": null pointer; pass a struct");
  std::uint32_t given_size = 0;
  if (Status s = read_size(name, given, given_size); !s.ok()) return s;
  std::memset(given, 0, given_size);
  std::memcpy(given, filled, std::min<std::size_t>(size, given_size));
  std::memcpy(given, &given_size, sizeof(given_size));
  return {};
}

}  // namespace qkv::c
