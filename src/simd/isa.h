// The instruction sets kernels are compiled for. One translation unit compiles for one of them:
//
//   #define QKV_TARGET QKV_TARGET_AVX2
//   #include "kernels/attention/kernel-inl.h"
//
// Everything in a "-inl.h" file lies in namespace qkv::QKV_ISA, so that no inline function of one
// instruction set can replace that of another at link time.
#ifndef QKV_SIMD_ISA_H_
#define QKV_SIMD_ISA_H_

#define QKV_TARGET_PORTABLE 1
#define QKV_TARGET_NEON 2
#define QKV_TARGET_AVX2 3
#define QKV_TARGET_AVX512 4

#ifndef QKV_TARGET
#error "define QKV_TARGET before including a -inl.h file"
#endif

#if QKV_TARGET == QKV_TARGET_PORTABLE
#define QKV_ISA portable
#elif QKV_TARGET == QKV_TARGET_NEON
#define QKV_ISA neon
#elif QKV_TARGET == QKV_TARGET_AVX2
#define QKV_ISA avx2
#elif QKV_TARGET == QKV_TARGET_AVX512
#define QKV_ISA avx512
#else
#error "unknown QKV_TARGET"
#endif

#if QKV_TARGET == QKV_TARGET_PORTABLE
// The compiler's own vectors at the baseline of the build: no target attributes.
#define QKV_BEFORE_NAMESPACE() static_assert(true, "")
#define QKV_AFTER_NAMESPACE() static_assert(true, "")
#else
#include <hwy/detect_targets.h>
#undef HWY_TARGET
#if QKV_TARGET == QKV_TARGET_NEON
#define HWY_TARGET HWY_NEON
#elif QKV_TARGET == QKV_TARGET_AVX2
#define HWY_TARGET HWY_AVX2
#else
#define HWY_TARGET HWY_AVX3
#endif
#include <hwy/highway.h>
#define QKV_BEFORE_NAMESPACE() HWY_BEFORE_NAMESPACE()
#define QKV_AFTER_NAMESPACE() HWY_AFTER_NAMESPACE()
#endif

#define QKV_INLINE inline __attribute__((always_inline))

#endif  // QKV_SIMD_ISA_H_
