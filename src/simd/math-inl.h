// exp, tanh, erf, log and log1p of contract A on vectors. docs/arithmetic.md has the coefficients
// and the order; src/kernels/exact/functions.h is the scalar twin, written apart.
#ifndef QKV_SIMD_MATH_INL_H_
#define QKV_SIMD_MATH_INL_H_

#include <bit>
#include <limits>

#include "simd/faults.h"
#include "simd/vec-inl.h"
#include "tensor/float16.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

// -0 becomes +0, every NaN the canonical one, as results leave the library.
QKV_INLINE V canonical(V x) {
  return select(equal(x, x), x + zero(), set(std::bit_cast<float>(kCanonicalNaN32)));
}

// exp(x) = y * (the float with the bits of t shifted left by 23), as long as that is finite.
struct ExpParts {
  V y, t;
};
QKV_INLINE ExpParts exp_parts(V x) {
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
  return {y, t};
}

// For x <= 0, +0 for x < -0x1.5d589ep+6 (results below 2^-126), NaN for NaN.
QKV_INLINE V exp(V x) {
  const auto [y, t] = exp_parts(x);
  // By multiplication, so that a NaN stays one whatever its bits are.
  return zero_where(less(x, set(-0x1.5d589ep+6f)), y * bits_to_exponent(t));
}

// For any x: the bits of exp(x) for x <= 0, +inf for x > 0x1.62e42ep+6 (results above 2^128).
QKV_INLINE V exp_full(V x) {
  const auto [y, t] = exp_parts(x);
  // 2^128 is no float: 2 y and one less in the exponent, where that is needed and a little before.
  const M large = less(set(88.0f), x);
  const V scale = bits_to_exponent(select(large, t - set(1.0f), t));
  const V result = zero_where(less(x, set(-0x1.5d589ep+6f)), select(large, y + y, y) * scale);
  return select(less(set(0x1.62e42ep+6f), x), set(std::numeric_limits<float>::infinity()), result);
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

QKV_INLINE V erf(V x) {
  const V a = abs(x);
  const V z = x * x;
  V q = set(0x1.4771fcp-14f);
  q = fma(q, z, set(-0x1.a3515ep-11f));
  q = fma(q, z, set(0x1.53f224p-8f));
  q = fma(q, z, set(-0x1.b7f71ap-6f));
  q = fma(q, z, set(0x1.ce2ce6p-4f));
  q = fma(q, z, set(-0x1.81273ep-2f));
  q = fma(q, z, set(0x1.06eba8p-3f));
  const V small = fma(q, x, x);
  const V b = select(less(set(4.0f), a), set(4.0f), a);  // a NaN stays one
  V g = set(0x1.b8c71ap-13f);
  g = fma(g, b, set(-0x1.a136ecp-9f));
  g = fma(g, b, set(0x1.755376p-6f));
  g = fma(g, b, set(-0x1.ae79b8p-4f));
  g = fma(g, b, set(-0x1.458dacp-1f));
  g = fma(g, b, set(-0x1.20e3c6p+0f));
  const V large = copy_sign(set(1.0f) - exp(g * b), x);
  return select(less(a, set(1.0f)), small, large);
}

// The bits of 2^k for the k with x = 2^k z, z in [2/3, 4/3), less those of 1. x > 0, not subnormal.
QKV_INLINE U exponent_bits(V x) {
  return (bits_of(x) - set_words(0x3f2aaaab)) & set_words(0xff800000);
}

// log(2^k (1 + f)) for f in [-1/3, 1/3].
QKV_INLINE V log_of_parts(V k, V f) {
  V q = set(-0x1.07c894p-3f);
  q = fma(q, f, set(0x1.1e678cp-3f));
  q = fma(q, f, set(-0x1.f332f8p-4f));
  q = fma(q, f, set(0x1.1ed662p-3f));
  q = fma(q, f, set(-0x1.559c44p-3f));
  q = fma(q, f, set(0x1.99d044p-3f));
  q = fma(q, f, set(-0x1.fffefcp-3f));
  q = fma(q, f, set(0x1.555506p-2f));
  q = fma(q, f, set(-0.5f));
  return fma(k, set(0x1.62e43p-1f), fma(f * f, q, f));
}

// `y`, but at the ends of the domain of log: x is NaN or +inf, 0, below 0.
QKV_INLINE V log_edges(V x, V y) {
  const V infinity = set(std::numeric_limits<float>::infinity());
  y = select(less(x, infinity), y, x);
  y = select(equal(x, zero()), zero() - infinity, y);
  return select(less(x, zero()), set(std::numeric_limits<float>::quiet_NaN()), y);
}

// The natural logarithm as a float; qkv::log is the one in double.
QKV_INLINE V log_float(V x) {
  const M subnormal = less(x, set(0x1p-126f));
  const V y = select(subnormal, x * set(0x1p+23f), x);
  const U e = exponent_bits(y);
  const V k = fma(signed_to_float(e), set(0x1p-23f), select(subnormal, set(-23.0f), zero()));
  return log_edges(x, log_of_parts(k, with_bits(bits_of(y) - e) - set(1.0f)));
}

QKV_INLINE V log1p(V x) {
  const V u = set(1.0f) + x;
  const U e = exponent_bits(u);
  const V k = signed_to_float(e) * set(0x1p-23f);
  // 2^-k (1 + x) - 1 rounded once. Beyond 2^24, 1 + x is x, and 2^-k may be below 2^-126.
  const V scale = with_bits(set_words(0x3f800000) - e);
  const V near = fma(x, scale, scale - set(1.0f));
  const V far = with_bits(bits_of(u) - e) - set(1.0f);
  const V f = select(less(set(0x1p+24f), x), far, near);
  return copy_sign(log_edges(u, log_of_parts(k, f)), x);  // for -0
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_SIMD_MATH_INL_H_
