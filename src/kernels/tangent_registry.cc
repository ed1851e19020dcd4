#include "kernels/registry.h"

namespace qkv {

// Each is defined in the source of its instruction set.
#define QKV_KERNELS(name, isa, usable) TangentKernel tangent_kernel_##name();
#include "kernels/kernels.inc"
#undef QKV_KERNELS

TangentKernel tangent_kernel(const KernelSet& kernels) {
#define QKV_KERNELS(name, isa_of_it, usable) \
  if (kernels.isa == isa_of_it) return tangent_kernel_##name();
#include "kernels/kernels.inc"
#undef QKV_KERNELS
  return tangent_kernel_portable();
}

}  // namespace qkv
