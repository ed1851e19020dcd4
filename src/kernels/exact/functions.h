// The functions of contract A, one number at a time, as docs/arithmetic.md prints them. The SIMD
// versions in src/simd are written apart from these, so that each checks the other.
#ifndef QKV_KERNELS_EXACT_FUNCTIONS_H_
#define QKV_KERNELS_EXACT_FUNCTIONS_H_

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace qkv::exact {

// a * b + c rounded once to float32, on any CPU. The product is exact in double; the sum is rounded
// to odd there (Boldo and Melquiond 2008), after which rounding to float32 is right, subnormal
// results included.
inline float fma(float a, float b, float c) {
  const double product = double{a} * double{b};
  const double sum = product + double{c};
  if (!(std::abs(sum) <= std::numeric_limits<double>::max())) return static_cast<float>(sum);
  const double back = sum - product;
  const double error = (product - (sum - back)) + (double{c} - back);  // TwoSum
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error != 0 && bits % 2 == 0) bits += (error > 0) == (sum > 0) ? 1 : -1;
  return static_cast<float>(std::bit_cast<double>(bits));
}

// For x <= 0 and NaN; at most 0.9 ulp (every float32 was tried). exp(x) = 2^n exp(r), r = x - n
// ln 2.
inline float exp(float x) {
  if (x != x) return x;
  if (x < -0x1.5d589ep+6f) return 0.0f;  // below 2^-126
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits; 127 is the exponent's bias.
  constexpr float kMagic = 0x1.8p+23f + 127.0f;
  const float t = fma(x, 0x1.715476p+0f, kMagic);
  const float n = t - kMagic;
  float r = fma(n, -0x1.62e4p-1f, x);
  r = fma(n, -0x1.7f7d1cp-20f, r);
  float y = 0x1.694cc6p-10f;
  for (float coefficient :
       {0x1.123986p-7f, 0x1.555a26p-5f, 0x1.555492p-3f, 0x1.fffffap-2f, 1.0f, 1.0f}) {
    y = fma(y, r, coefficient);
  }
  return y * std::bit_cast<float>(std::bit_cast<std::uint32_t>(t) << 23);
}

// At most 1.5 ulp.
inline float tanh(float x) {
  const float a = std::abs(x);
  float y;
  if (a < 0.6f) {
    const float z = a * a;
    float q = -0x1.828776p-8f;
    for (float coefficient : {0x1.54c3c2p-6f, -0x1.b89abap-5f, 0x1.1109bep-3f, -0x1.55553ep-2f}) {
      q = fma(q, z, coefficient);
    }
    y = fma(q, a * z, a);
  } else {
    const float e = exp(-2.0f * a);
    y = 1.0f - (2.0f * e) / (1.0f + e);
  }
  return std::copysign(y, x);
}

// For x > 0, +inf and NaN, x not subnormal; at most 1 ulp of double. x = 2^k z with z in
// [sqrt(1/2), sqrt(2)); log z = 2 atanh(s), s = (z - 1) / (z + 1), by its Taylor series.
inline double log(double x) {
  if (!(x <= std::numeric_limits<double>::max())) return x;
  auto bits = std::bit_cast<std::uint64_t>(x);
  auto k = static_cast<std::int64_t>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
  double z = std::bit_cast<double>(bits);
  if (z >= 0x1.6a09e667f3bcdp+0) {
    z *= 0.5;
    k += 1;
  }
  const double f = z - 1.0;
  const double s = f / (2.0 + f);
  const double w = s * s;
  double q = 0;
  for (int n = 23; n >= 3; n -= 2) q = (q + 1.0 / n) * w;
  // log z = 2 s + 2 s q = f - s (f - 2 q), with f exact.
  const double high = static_cast<double>(k) * 0x1.62e42feep-1;
  const double low = static_cast<double>(k) * 0x1.a39ef35793c76p-33;
  return high + (f - (s * (f - 2.0 * q) - low));
}

// Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011): four words of a counter and a key of 64 bits.
inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> x, std::uint64_t key) {
  for (std::uint32_t round = 0; round < 10; ++round) {
    const std::uint64_t a = x[0] * std::uint64_t{0xd2511f53}, b = x[2] * std::uint64_t{0xcd9e8d57};
    const std::uint32_t low_key = static_cast<std::uint32_t>(key) + round * 0x9e3779b9;
    const std::uint32_t high_key = static_cast<std::uint32_t>(key >> 32) + round * 0xbb67ae85;
    x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ low_key, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ high_key, static_cast<std::uint32_t>(a)};
  }
  return x;
}

// floor(p * 2^32 + 1/2) for 0 <= p <= 1, in whole numbers: the product is exact.
inline std::uint64_t dropout_threshold(double p) {
  return (static_cast<std::uint64_t>(p * 0x1p33) + 1) / 2;
}

// Whether dropout keeps the pair of a query at position p(i) = `position` and key j. All numbers
// modulo 2^32.
inline bool dropout_keeps(std::uint64_t seed, std::int64_t j, std::int64_t position,
                          std::int64_t head, std::int64_t stream, std::uint64_t threshold) {
  const std::array<std::uint32_t, 4> words =
      philox({static_cast<std::uint32_t>(j / 4), static_cast<std::uint32_t>(position),
              static_cast<std::uint32_t>(head), static_cast<std::uint32_t>(stream)},
             seed);
  return words[static_cast<std::size_t>(j % 4)] >= threshold;
}

}  // namespace qkv::exact

#endif  // QKV_KERNELS_EXACT_FUNCTIONS_H_
