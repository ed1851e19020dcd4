#define QKV_TARGET QKV_TARGET_NEON
#include "kernels/attention/kernel-inl.h"

namespace qkv {
AttentionKernel attention_kernel_neon() { return neon::attention_kernel(Isa::kNeon, "neon"); }
}  // namespace qkv
