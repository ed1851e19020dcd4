#define QKV_TARGET QKV_TARGET_PORTABLE
#include "kernels/attention/kernel-inl.h"

namespace qkv {
AttentionKernel attention_kernel_portable() {
  return portable::attention_kernel(Isa::kPortable, "portable");
}
}  // namespace qkv
