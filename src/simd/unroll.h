// QKV_UNROLL before a loop with a constant trip count unrolls it wholly, so that arrays of vectors
// become registers.
#ifndef QKV_SIMD_UNROLL_H_
#define QKV_SIMD_UNROLL_H_

#if defined(__clang__)
#define QKV_UNROLL _Pragma("clang loop unroll(full)")
#else
#define QKV_UNROLL _Pragma("GCC unroll 64")
#endif

#endif  // QKV_SIMD_UNROLL_H_
