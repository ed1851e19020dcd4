#include "kernels/registry.h"

namespace qkv {

// Each is defined in the source of its instruction set.
#define QKV_KERNELS(name, isa, usable)       \
  AttentionKernel attention_kernel_##name(); \
  GradientKernel gradient_kernel_##name();   \
  LayerKernel layer_kernel_##name();         \
  MatmulKernel matmul_kernel_##name();
#include "kernels/kernels.inc"
#undef QKV_KERNELS

std::span<const KernelSet> kernel_sets() {
  static const KernelSet sets[] = {
#define QKV_KERNELS(name, isa, usable)       \
  {isa,                                      \
   [] { return static_cast<bool>(usable); }, \
   attention_kernel_##name(),                \
   gradient_kernel_##name(),                 \
   layer_kernel_##name(),                    \
   matmul_kernel_##name()},
#include "kernels/kernels.inc"
#undef QKV_KERNELS
  };
  return sets;
}

}  // namespace qkv
