#define QKV_TARGET QKV_TARGET_NEON
#include "kernels/gradient/kernel-inl.h"

namespace qkv {
GradientKernel gradient_kernel_neon() { return neon::gradient_kernel(Isa::kNeon, "neon"); }
}  // namespace qkv
