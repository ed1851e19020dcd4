#define QKV_TARGET QKV_TARGET_NEON
#include "kernels/matmul/kernel-inl.h"

namespace qkv {
MatmulKernel matmul_kernel_neon() { return neon::matmul_kernel(Isa::kNeon); }
}  // namespace qkv
