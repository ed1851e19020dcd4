#define QKV_TARGET QKV_TARGET_AVX2
#include "simd/functions-inl.h"

namespace qkv::test {
VectorFunctions vector_functions_avx2() { return avx2::vector_functions(Isa::kAvx2); }
}  // namespace qkv::test
