#define QKV_TARGET QKV_TARGET_AVX512
#include "kernels/layers/kernel-inl.h"

namespace qkv {
LayerKernel layer_kernel_avx512() { return avx512::layer_kernel(Isa::kAvx512); }
}  // namespace qkv
