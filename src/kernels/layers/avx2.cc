#define QKV_TARGET QKV_TARGET_AVX2
#include "kernels/layers/kernel-inl.h"

namespace qkv {
LayerKernel layer_kernel_avx2() { return avx2::layer_kernel(Isa::kAvx2); }
}  // namespace qkv
