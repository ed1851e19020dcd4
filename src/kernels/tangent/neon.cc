#define QKV_TARGET QKV_TARGET_NEON
#include "kernels/tangent/kernel-inl.h"

namespace qkv {
TangentKernel tangent_kernel_neon() { return neon::tangent_kernel(Isa::kNeon, "neon"); }
}  // namespace qkv
