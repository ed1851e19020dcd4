// Structs that grow: read and written in the size the caller knows. Nothing here throws.
#ifndef QKV_BINDINGS_C_STRUCTS_H_
#define QKV_BINDINGS_C_STRUCTS_H_

#include <cstddef>

#include "qkv.h"
#include "qkv/status.h"

namespace qkv::c {

Status read_struct(const char* name, const void* given, void* read, std::size_t size);
Status write_struct(const char* name, const void* filled, void* given, std::size_t size);

// Copies *given, of the size it states, to `read`; fields it lacks, or all if it is null, are 0.
template <class Struct>
Status read_struct(const char* name, const Struct* given, Struct& read) {
  read = Struct();
  return read_struct(name, given, &read, sizeof(Struct));
}

// Copies `filled` to *given, as much as the size it states holds. That size stays.
template <class Struct>
Status write_struct(const char* name, const Struct& filled, Struct* given) {
  return write_struct(name, &filled, given, sizeof(Struct));
}

}  // namespace qkv::c

#endif  // QKV_BINDINGS_C_STRUCTS_H_
