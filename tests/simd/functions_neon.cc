#define QKV_TARGET QKV_TARGET_NEON
#include "simd/functions-inl.h"

namespace qkv::test {
VectorFunctions vector_functions_neon() { return neon::vector_functions(Isa::kNeon); }
}  // namespace qkv::test
