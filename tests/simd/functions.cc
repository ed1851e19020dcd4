#include "simd/functions.h"

namespace qkv::test {

VectorFunctions vector_functions_portable();
VectorFunctions vector_functions_neon();
VectorFunctions vector_functions_avx2();
VectorFunctions vector_functions_avx512();

std::vector<VectorFunctions> all_vector_functions() {
  return {
      vector_functions_portable(),
#if defined(__aarch64__)
      vector_functions_neon(),
#elif defined(__x86_64__)
      vector_functions_avx2(),
      vector_functions_avx512(),
#endif
  };
}

}  // namespace qkv::test
