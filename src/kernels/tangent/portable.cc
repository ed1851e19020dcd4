#define QKV_TARGET QKV_TARGET_PORTABLE
#include "kernels/tangent/kernel-inl.h"

namespace qkv {
TangentKernel tangent_kernel_portable() {
  return portable::tangent_kernel(Isa::kPortable, "portable");
}
}  // namespace qkv
