#define QKV_TARGET QKV_TARGET_AVX2
#include "kernels/matmul/kernel-inl.h"

namespace qkv {
MatmulKernel matmul_kernel_avx2() { return avx2::matmul_kernel(Isa::kAvx2); }
}  // namespace qkv
