#define QKV_TARGET QKV_TARGET_AVX512
#include "kernels/attention/kernel-inl.h"

namespace qkv {
AttentionKernel attention_kernel_avx512() {
  return avx512::attention_kernel(Isa::kAvx512, "avx512");
}
}  // namespace qkv
