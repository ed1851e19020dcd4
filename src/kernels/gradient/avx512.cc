#define QKV_TARGET QKV_TARGET_AVX512
#include "kernels/gradient/kernel-inl.h"

namespace qkv {
GradientKernel gradient_kernel_avx512() { return avx512::gradient_kernel(Isa::kAvx512, "avx512"); }
}  // namespace qkv
