// The vector of floats that kernels are written with: on Google Highway where the hardware has a
// fused multiply-add, else on the compiler's vectors with an exact one (vec_portable-inl.h).
//
// V is the vector, M a mask of its lanes; kLanes of them. +, -, *, / are IEEE operations. U has as
// many words of 32 bits; its +, - are modulo 2^32.
#ifndef QKV_SIMD_VEC_INL_H_
#define QKV_SIMD_VEC_INL_H_

#include "simd/isa.h"

#if QKV_TARGET == QKV_TARGET_PORTABLE
#include "simd/vec_portable-inl.h"
#else

#include <cstdint>

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<D>;
using DU = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;
using U = hn::Vec<DU>;
inline constexpr int kLanes = hn::MaxLanes(D());
static_assert(HWY_NATIVE_FMA, "targets without a fused multiply-add use vec_portable-inl.h");

QKV_INLINE V load(const float* p) { return hn::LoadU(D(), p); }
QKV_INLINE void store(V v, float* p) { hn::StoreU(v, D(), p); }
QKV_INLINE V set(float x) { return hn::Set(D(), x); }
QKV_INLINE V zero() { return hn::Zero(D()); }
QKV_INLINE V fma(V a, V b, V c) { return hn::MulAdd(a, b, c); }

QKV_INLINE M less(V a, V b) { return hn::Lt(a, b); }
QKV_INLINE M equal(V a, V b) { return hn::Eq(a, b); }
QKV_INLINE M either(M a, M b) { return hn::Or(a, b); }
QKV_INLINE M but_not(M a, M b) { return hn::AndNot(b, a); }  // a and not b
QKV_INLINE V select(M m, V yes, V no) { return hn::IfThenElse(m, yes, no); }
QKV_INLINE V zero_where(M m, V x) { return hn::IfThenZeroElse(m, x); }
QKV_INLINE bool all(M m) { return hn::AllTrue(D(), m); }

// The larger (smaller) of x and bound; bound if x is NaN. `bound` is not NaN.
#if HWY_ARCH_X86
// maxps and minps return their second operand if either is NaN.
QKV_INLINE V max_number(V x, V bound) { return hn::Max(x, bound); }
QKV_INLINE V min_number(V x, V bound) { return hn::Min(x, bound); }
#else
QKV_INLINE V max_number(V x, V bound) { return select(less(bound, x), x, bound); }
QKV_INLINE V min_number(V x, V bound) { return select(less(x, bound), x, bound); }
#endif

QKV_INLINE V abs(V x) { return hn::Abs(x); }
QKV_INLINE V swap_pairs(V x) { return hn::Reverse2(D(), x); }  // lanes 2 n and 2 n + 1
QKV_INLINE V copy_sign(V magnitude, V sign) { return hn::CopySign(magnitude, sign); }
// The float whose bits are those of t shifted left by 23: low integer bits become an exponent.
QKV_INLINE V bits_to_exponent(V t) {
  return hn::BitCast(D(), hn::ShiftLeft<23>(hn::BitCast(DU(), t)));
}

QKV_INLINE U load_words(const std::uint32_t* p) { return hn::LoadU(DU(), p); }
QKV_INLINE void store_words(U v, std::uint32_t* p) { hn::StoreU(v, DU(), p); }
QKV_INLINE U set_words(std::uint32_t x) { return hn::Set(DU(), x); }
QKV_INLINE M at_least(U a, std::uint32_t bound) {
  return hn::RebindMask(D(), hn::Eq(hn::Max(a, hn::Set(DU(), bound)), a));
}
QKV_INLINE U bits_of(V x) { return hn::BitCast(DU(), x); }
QKV_INLINE V with_bits(U x) { return hn::BitCast(D(), x); }
// float of words read as signed numbers.
QKV_INLINE V signed_to_float(U x) { return hn::ConvertTo(D(), hn::BitCast(DI(), x)); }
// The halves of the 64-bit products a[lane] * b.
struct Product {
  U high, low;
};
QKV_INLINE Product multiply_wide(U a, std::uint32_t b) {
  const hn::RepartitionToWide<DU> wide;
  const U factor = hn::Set(DU(), b);
  const auto even = hn::MulEven(a, factor);
  const auto odd = hn::MulEven(hn::BitCast(DU(), hn::ShiftRight<32>(hn::BitCast(wide, a))), factor);
  return {hn::OddEven(hn::BitCast(DU(), odd), hn::BitCast(DU(), hn::ShiftRight<32>(even))),
          hn::OddEven(hn::BitCast(DU(), hn::ShiftLeft<32>(odd)), hn::BitCast(DU(), even))};
}

// Lanes in which words[lane] has a bit in common with `bit`.
QKV_INLINE M bit_set(const std::uint32_t* words, std::uint32_t bit) {
  const auto test = hn::And(hn::LoadU(DU(), words), hn::Set(DU(), bit));
  return hn::RebindMask(D(), hn::Ne(test, hn::Zero(DU())));
}
// float(|offsets[lane] - x|), for differences within int32.
QKV_INLINE V distance(const std::int32_t* offsets, std::int32_t x) {
  return hn::ConvertTo(D(), hn::Abs(hn::Sub(hn::LoadU(DI(), offsets), hn::Set(DI(), x))));
}

// bfloat16 and float16 bits, widened exactly. kLanes of them.
QKV_INLINE V load_bfloat16(const std::uint16_t* p) {
  const hn::Rebind<std::uint16_t, D> half;
  return hn::BitCast(D(), hn::ShiftLeft<16>(hn::PromoteTo(DU(), hn::LoadU(half, p))));
}
QKV_INLINE V load_float16(const std::uint16_t* p) {
  const hn::Rebind<hwy::float16_t, D> half;
  const hn::Rebind<std::uint16_t, D> bits;
  return hn::PromoteTo(D(), hn::BitCast(half, hn::LoadU(bits, p)));
}

// Lane 4 b + i of result c is rows[4 b + i][c], c = 0 to 3: a 4-column strip of kLanes rows,
// transposed. `row(n)` gives the address of row n's first column.
template <class Row>
QKV_INLINE void load_transposed4(Row row, V out[4]) {
  V r[4];
  for (int i = 0; i < 4; ++i) {
#if HWY_TARGET == HWY_AVX3
    const hn::CappedTag<float, 4> d4;
    const hn::CappedTag<float, 8> d8;
    r[i] = hn::Combine(D(), hn::Combine(d8, hn::LoadU(d4, row(12 + i)), hn::LoadU(d4, row(8 + i))),
                       hn::Combine(d8, hn::LoadU(d4, row(4 + i)), hn::LoadU(d4, row(i))));
#elif HWY_TARGET == HWY_AVX2
    const hn::CappedTag<float, 4> d4;
    r[i] = hn::Combine(D(), hn::LoadU(d4, row(4 + i)), hn::LoadU(d4, row(i)));
#else
    r[i] = hn::LoadU(D(), row(i));
#endif
  }
  // A 4 x 4 transpose inside each 128-bit block.
  const hn::RepartitionToWide<DU> wide;
  const V low01 = hn::InterleaveLower(D(), r[0], r[1]),
          low23 = hn::InterleaveLower(D(), r[2], r[3]);
  const V high01 = hn::InterleaveUpper(D(), r[0], r[1]);
  const V high23 = hn::InterleaveUpper(D(), r[2], r[3]);
  const auto as_wide = [&](V v) { return hn::BitCast(wide, v); };
  out[0] = hn::BitCast(D(), hn::InterleaveLower(wide, as_wide(low01), as_wide(low23)));
  out[1] = hn::BitCast(D(), hn::InterleaveUpper(wide, as_wide(low01), as_wide(low23)));
  out[2] = hn::BitCast(D(), hn::InterleaveLower(wide, as_wide(high01), as_wide(high23)));
  out[3] = hn::BitCast(D(), hn::InterleaveUpper(wide, as_wide(high01), as_wide(high23)));
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_TARGET
#endif  // QKV_SIMD_VEC_INL_H_
