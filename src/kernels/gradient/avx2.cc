#define QKV_TARGET QKV_TARGET_AVX2
#include "kernels/gradient/kernel-inl.h"

namespace qkv {
GradientKernel gradient_kernel_avx2() { return avx2::gradient_kernel(Isa::kAvx2, "avx2"); }
}  // namespace qkv
