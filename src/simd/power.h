// Powers in double, for the frequencies of positions.
#ifndef QKV_SIMD_POWER_H_
#define QKV_SIMD_POWER_H_

namespace qkv {

// base^(n / d) for a finite base >= 1 and whole numbers |n| <= d <= 2^53: to less than 1 ulp (0.86
// in 300,000). It is exp(n / d * log(base)) by the series of both, with the logarithm, the quotient
// and their product in two doubles.
double power(double base, double n, double d);

}  // namespace qkv

#endif  // QKV_SIMD_POWER_H_
