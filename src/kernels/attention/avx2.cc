#define QKV_TARGET QKV_TARGET_AVX2
#include "kernels/attention/kernel-inl.h"

namespace qkv {
AttentionKernel attention_kernel_avx2() { return avx2::attention_kernel(Isa::kAvx2, "avx2"); }
}  // namespace qkv
