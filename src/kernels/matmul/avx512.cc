#define QKV_TARGET QKV_TARGET_AVX512
#include "kernels/matmul/kernel-inl.h"

namespace qkv {
MatmulKernel matmul_kernel_avx512() { return avx512::matmul_kernel(Isa::kAvx512); }
}  // namespace qkv
