#define QKV_TARGET QKV_TARGET_PORTABLE
#include "kernels/matmul/kernel-inl.h"

namespace qkv {
MatmulKernel matmul_kernel_portable() { return portable::matmul_kernel(Isa::kPortable); }
}  // namespace qkv
