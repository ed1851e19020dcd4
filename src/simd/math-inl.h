// exp and tanh of contract A on vectors. docs/arithmetic.md has the coefficients and the order;
// src/kernels/exact/functions.h is the scalar twin, written apart.
#ifndef QKV_SIMD_MATH_INL_H_
#define QKV_SIMD_MATH_INL_H_

#include "simd/faults.h"
#include "simd/vec-inl.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

// For x <= 0, +0 for x < -0x1.5d589ep+6 (results below 2^-126), NaN for NaN.
QKV_INLINE V exp(V x) {
  // 1.5 * 2^23 rounds to an integer that lands in the low bits; 127 is the exponent's bias.
  const V magic = set(0x1.8p+23f + 127.0f);
  const V t = fma(x, set(0x1.715476p+0f), magic);
  const V n = t - magic;
  V r = fma(n, set(-0x1.62e4p-1f), x);
  r = fma(n, set(-0x1.7f7d1cp-20f), r);
  V y = set(0x1.694cc6p-10f);
  y = fma(y, r, set(0x1.123986p-7f));
  y = fma(y, r, set(0x1.555a26p-5f));
  y = fma(y, r, set(0x1.555492p-3f));
  y = fma(y, r, set(0x1.fffffap-2f));
  y = fma(y, r, set(1.0f));
  y = fma(y, r, set(1.0f));
#if QKV_FAULT_CODE == QKV_FAULT_EXP_ULP
  y = fma(y, set(0x1p-23f), y);
#endif
#ifdef QKV_BREAKABLE
  if (faults::g_break_exp) y = fma(y, set(0x1p-23f), y);
#endif
  // By multiplication, so that a NaN stays one whatever its bits are.
  return zero_where(less(x, set(-0x1.5d589ep+6f)), y * bits_to_exponent(t));
}

QKV_INLINE V tanh(V x) {
  const V a = abs(x);
  const V z = a * a;
  V q = set(-0x1.828776p-8f);
  q = fma(q, z, set(0x1.54c3c2p-6f));
  q = fma(q, z, set(-0x1.b89abap-5f));
  q = fma(q, z, set(0x1.1109bep-3f));
  q = fma(q, z, set(-0x1.55553ep-2f));
  const V small = fma(q, a * z, a);
  const V e = exp(set(-2.0f) * a);
  const V large = set(1.0f) - (set(2.0f) * e) / (set(1.0f) + e);
  return copy_sign(select(less(a, set(0.6f)), small, large), x);
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_SIMD_MATH_INL_H_
