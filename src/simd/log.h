// The natural logarithm of contract A, in double, for LSE.
#ifndef QKV_SIMD_LOG_H_
#define QKV_SIMD_LOG_H_

namespace qkv {

// For x > 0 and not subnormal; NaN and +inf give themselves. At most 1 ulp. x = 2^k z with z in
// [sqrt(1/2), sqrt(2)); log z = 2 atanh(s), s = (z - 1) / (z + 1), by its series up to s^23.
double log(double x);

}  // namespace qkv

#endif  // QKV_SIMD_LOG_H_
