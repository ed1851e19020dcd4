#define QKV_TARGET QKV_TARGET_AVX512
#include "kernels/tangent/kernel-inl.h"

namespace qkv {
TangentKernel tangent_kernel_avx512() { return avx512::tangent_kernel(Isa::kAvx512, "avx512"); }
}  // namespace qkv
