#define QKV_TARGET QKV_TARGET_PORTABLE
#include "kernels/gradient/kernel-inl.h"

namespace qkv {
GradientKernel gradient_kernel_portable() {
  return portable::gradient_kernel(Isa::kPortable, "portable");
}
}  // namespace qkv
