// The vector of vec-inl.h in the compiler's own vector types, for CPUs without a fused
// multiply-add: x86-64 before AVX2, WebAssembly. Included by vec-inl.h only.
#ifndef QKV_SIMD_VEC_PORTABLE_INL_H_
#define QKV_SIMD_VEC_PORTABLE_INL_H_

#include <cstdint>
#include <cstring>

#include "simd/isa.h"
#include "tensor/float16.h"

namespace qkv::QKV_ISA {

inline constexpr int kLanes = 4;
typedef float V __attribute__((vector_size(16)));
typedef std::int32_t M __attribute__((vector_size(16)));  // -1 where true
typedef std::uint32_t U __attribute__((vector_size(16)));
typedef double V64 __attribute__((vector_size(32)));
typedef std::int64_t M64 __attribute__((vector_size(32)));

QKV_INLINE V load(const float* p) {
  V v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
QKV_INLINE void store(V v, float* p) { std::memcpy(p, &v, sizeof(v)); }
QKV_INLINE V set(float x) { return V{x, x, x, x}; }
QKV_INLINE V zero() { return V{}; }

QKV_INLINE M less(V a, V b) { return a < b; }
QKV_INLINE M equal(V a, V b) { return a == b; }
QKV_INLINE M either(M a, M b) { return a | b; }
QKV_INLINE M but_not(M a, M b) { return a & ~b; }
QKV_INLINE V select(M m, V yes, V no) {
  return reinterpret_cast<V>((reinterpret_cast<M>(yes) & m) | (reinterpret_cast<M>(no) & ~m));
}
QKV_INLINE V zero_where(M m, V x) { return reinterpret_cast<V>(reinterpret_cast<M>(x) & ~m); }
QKV_INLINE bool all(M m) { return (m[0] & m[1] & m[2] & m[3]) != 0; }
QKV_INLINE bool any(M m) {
#ifdef __wasm_simd128__
  return __builtin_wasm_any_true_v128(m);
#else
  std::uint64_t halves[2];
  std::memcpy(halves, &m, sizeof(halves));
  return (halves[0] | halves[1]) != 0;
#endif
}

// a * b + c rounded once: the sum is rounded to odd in double, after which rounding to float is
// right also for subnormal results. Not inlined: it is long, and seldom needed.
__attribute__((noinline)) inline V fma_to_odd(V a, V b, V c) {
  const V64 product = __builtin_convertvector(a, V64) * __builtin_convertvector(b, V64);
  const V64 addend = __builtin_convertvector(c, V64);
  const V64 sum = product + addend;
  const V64 back = sum - product;
  const V64 error = (product - (sum - back)) + (addend - back);  // TwoSum
  // Inexact, even and finite sums move one bit towards the exact value. For an infinite or NaN sum
  // the error is NaN, which compares neither below nor above 0.
  const M64 even = (reinterpret_cast<M64>(sum) & 1) - 1;
  const M64 inexact = (error < 0.0) | (error > 0.0);
  const M64 opposite = (reinterpret_cast<M64>(error) ^ reinterpret_cast<M64>(sum)) >> 63;
  const M64 step = (opposite | 1) & even & inexact;
  return __builtin_convertvector(reinterpret_cast<V64>(reinterpret_cast<M64>(sum) + step), V);
}

// The same, fast. The product is exact in double. Rounding the sum to double and then to float is
// rounding once unless the double lies half way between two floats and is inexact: then
// its last 29 bits are 1 0...0, or the result is subnormal or 2^-126. (A result of 0 is right: a
// sum of at most 2^-150 is the product alone, or has all its bits above 2^-197, so it is exact.)
QKV_INLINE V fma(V a, V b, V c) {
  const V64 sum = __builtin_convertvector(a, V64) * __builtin_convertvector(b, V64) +
                  __builtin_convertvector(c, V64);
  const V rounded = __builtin_convertvector(sum, V);
  const M last_bits = __builtin_convertvector(reinterpret_cast<M64>(sum), M);
  const M half_way = (last_bits & 0x1fffffff) == 0x10000000;
  const M small = (reinterpret_cast<U>(rounded) & 0x7fffffff) - 1 < 0x00800000;
  if (__builtin_expect(any(half_way | small), 0)) return fma_to_odd(a, b, c);
  return rounded;
}

QKV_INLINE V max_number(V x, V bound) { return select(less(bound, x), x, bound); }
QKV_INLINE V min_number(V x, V bound) { return select(less(x, bound), x, bound); }
QKV_INLINE V swap_pairs(V x) { return V{x[1], x[0], x[3], x[2]}; }
QKV_INLINE V abs(V x) { return reinterpret_cast<V>(reinterpret_cast<M>(x) & 0x7fffffff); }
QKV_INLINE V copy_sign(V magnitude, V sign) { return select(M{} + 0x7fffffff, magnitude, sign); }
QKV_INLINE V bits_to_exponent(V t) { return reinterpret_cast<V>(reinterpret_cast<U>(t) << 23); }

QKV_INLINE U load_words(const std::uint32_t* p) {
  U v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
QKV_INLINE void store_words(U v, std::uint32_t* p) { std::memcpy(p, &v, sizeof(v)); }
QKV_INLINE U set_words(std::uint32_t x) { return U{x, x, x, x}; }
QKV_INLINE M at_least(U a, std::uint32_t bound) { return a >= bound; }
QKV_INLINE U bits_of(V x) { return reinterpret_cast<U>(x); }
QKV_INLINE V with_bits(U x) { return reinterpret_cast<V>(x); }
QKV_INLINE V signed_to_float(U x) { return __builtin_convertvector(reinterpret_cast<M>(x), V); }
struct Product {
  U high, low;
};
QKV_INLINE Product multiply_wide(U a, std::uint32_t b) {
  typedef std::uint64_t U64 __attribute__((vector_size(32)));
  const U64 product = __builtin_convertvector(a, U64) * std::uint64_t{b};
  return {__builtin_convertvector(product >> 32, U), __builtin_convertvector(product, U)};
}

QKV_INLINE M bit_set(const std::uint32_t* words, std::uint32_t bit) {
  M word;
  std::memcpy(&word, words, sizeof(word));
  return (word & static_cast<std::int32_t>(bit)) != 0;
}
QKV_INLINE V distance(const std::int32_t* offsets, std::int32_t x) {
  M d;
  std::memcpy(&d, offsets, sizeof(d));
  d = d - x;
  return __builtin_convertvector((d < 0) ? -d : d, V);
}
QKV_INLINE V load_bfloat16(const std::uint16_t* p) {
  M bits{};
  for (int i = 0; i < kLanes; ++i) bits[i] = static_cast<std::int32_t>(std::uint32_t{p[i]} << 16);
  return reinterpret_cast<V>(bits);
}
QKV_INLINE V load_float16(const std::uint16_t* p) {
  return V{float16_to_float(p[0]), float16_to_float(p[1]), float16_to_float(p[2]),
           float16_to_float(p[3])};
}
template <class Row>
QKV_INLINE void load_transposed4(Row row, V out[4]) {
  for (int c = 0; c < 4; ++c) out[c] = V{row(0)[c], row(1)[c], row(2)[c], row(3)[c]};
}

}  // namespace qkv::QKV_ISA

#endif  // QKV_SIMD_VEC_PORTABLE_INL_H_
