#define QKV_TARGET QKV_TARGET_PORTABLE
#include "simd/functions-inl.h"

namespace qkv::test {
VectorFunctions vector_functions_portable() { return portable::vector_functions(Isa::kPortable); }
}  // namespace qkv::test
