#define QKV_TARGET QKV_TARGET_AVX2
#include "kernels/tangent/kernel-inl.h"

namespace qkv {
TangentKernel tangent_kernel_avx2() { return avx2::tangent_kernel(Isa::kAvx2, "avx2"); }
}  // namespace qkv
