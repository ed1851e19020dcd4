// Sine and cosine in double, for positions.
#ifndef QKV_SIMD_TRIG_H_
#define QKV_SIMD_TRIG_H_

namespace qkv {

struct SinCos {
  double sin, cos;
};

// Of any finite angle, 1e300 too: to less than 1 ulp (0.78 in 300,000 angles). The angle is reduced
// by as many bits of 2 / pi as it takes; then their series, up to r^17 and r^18.
SinCos sin_cos(double angle);

}  // namespace qkv

#endif  // QKV_SIMD_TRIG_H_
