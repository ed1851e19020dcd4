#define QKV_TARGET QKV_TARGET_PORTABLE
#include "kernels/layers/kernel-inl.h"

namespace qkv {
LayerKernel layer_kernel_portable() { return portable::layer_kernel(Isa::kPortable); }
}  // namespace qkv
