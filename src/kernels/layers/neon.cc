#define QKV_TARGET QKV_TARGET_NEON
#include "kernels/layers/kernel-inl.h"

namespace qkv {
LayerKernel layer_kernel_neon() { return neon::layer_kernel(Isa::kNeon); }
}  // namespace qkv
