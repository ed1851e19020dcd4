#define QKV_TARGET QKV_TARGET_AVX512
#include "simd/functions-inl.h"

namespace qkv::test {
VectorFunctions vector_functions_avx512() { return avx512::vector_functions(Isa::kAvx512); }
}  // namespace qkv::test
