// The functions of contract A, one number at a time, as docs/arithmetic.md prints them. The SIMD
// versions in src/simd are written apart from these, so that each checks the other.
#ifndef QKV_KERNELS_EXACT_FUNCTIONS_H_
#define QKV_KERNELS_EXACT_FUNCTIONS_H_

#include <algorithm>
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

inline float power_of_two(std::int32_t n) {  // -126 <= n <= 127
  return std::bit_cast<float>(static_cast<std::uint32_t>(n + 127) << 23);
}

// exp(x) = 2^n y with y = exp(r), r = x - n ln 2.
struct ExpParts {
  float y;
  std::int32_t n;
};
inline ExpParts exp_parts(float x) {
  constexpr float kMagic = 0x1.8p+23f + 127.0f;  // adding it rounds to the nearest integer
  const float n = fma(x, 0x1.715476p+0f, kMagic) - kMagic;
  float r = fma(n, -0x1.62e4p-1f, x);
  r = fma(n, -0x1.7f7d1cp-20f, r);
  float y = 0x1.694cc6p-10f;
  for (float coefficient :
       {0x1.123986p-7f, 0x1.555a26p-5f, 0x1.555492p-3f, 0x1.fffffap-2f, 1.0f, 1.0f}) {
    y = fma(y, r, coefficient);
  }
  return {y, static_cast<std::int32_t>(n)};
}

// For x <= 0 and NaN; at most 0.9 ulp (every float32 was tried).
inline float exp(float x) {
  if (x != x) return x;
  if (x < -0x1.5d589ep+6f) return 0.0f;  // below 2^-126
  const auto [y, n] = exp_parts(x);
  return y * power_of_two(n);
}

// For any x; at most 0.9 ulp (every float32 was tried here, too, and below).
inline float exp_full(float x) {
  if (!(x > 0)) return exp(x);
  if (x > 0x1.62e42ep+6f) return std::numeric_limits<float>::infinity();
  const auto [y, n] = exp_parts(x);
  return y * power_of_two(n / 2) * power_of_two(n - n / 2);  // n may be 128
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

// At most 1.11 ulp.
inline float erf(float x) {
  if (std::abs(x) < 1.0f) {
    float q = 0x1.4771fcp-14f;
    for (float coefficient : {-0x1.a3515ep-11f, 0x1.53f224p-8f, -0x1.b7f71ap-6f, 0x1.ce2ce6p-4f,
                              -0x1.81273ep-2f, 0x1.06eba8p-3f}) {
      q = fma(q, x * x, coefficient);
    }
    return fma(x, q, x);
  }
  if (x != x) return x;
  const float b = std::min(std::abs(x), 4.0f);
  float g = 0x1.b8c71ap-13f;
  for (float coefficient :
       {-0x1.a136ecp-9f, 0x1.755376p-6f, -0x1.ae79b8p-4f, -0x1.458dacp-1f, -0x1.20e3c6p+0f}) {
    g = fma(g, b, coefficient);
  }
  return std::copysign(1.0f - exp(g * b), x);
}

// log(2^k (1 + f)) for f in [-1/3, 1/3].
inline float log_of_parts(std::int32_t k, float f) {
  float q = -0x1.07c894p-3f;
  for (float coefficient : {0x1.1e678cp-3f, -0x1.f332f8p-4f, 0x1.1ed662p-3f, -0x1.559c44p-3f,
                            0x1.99d044p-3f, -0x1.fffefcp-3f, 0x1.555506p-2f, -0.5f}) {
    q = fma(q, f, coefficient);
  }
  return fma(static_cast<float>(k), 0x1.62e43p-1f, fma(f * f, q, f));
}

// z in [2/3, 4/3) and k of x = 2^k z, for 0 < x < inf.
struct LogParts {
  float z;
  std::int32_t k;
};
inline LogParts log_parts(float x) {
  std::int32_t k = 0;
  for (; x < 0x1p-126f; x *= 2.0f) --k;  // subnormal
  const auto bits = std::bit_cast<std::uint32_t>(x);
  k += static_cast<std::int32_t>(bits >> 23) - 127;
  const float z = std::bit_cast<float>((bits & 0x007fffff) | 0x3f800000);
  return z < 0x1.555556p+0f ? LogParts{z, k} : LogParts{z * 0.5f, k + 1};
}

// At most 0.94 ulp, subnormal x too. -inf for 0 of either sign, NaN below.
inline float log_float(float x) {
  if (x != x || x == std::numeric_limits<float>::infinity()) return x;
  if (x < 0) return std::numeric_limits<float>::quiet_NaN();
  if (x == 0) return -std::numeric_limits<float>::infinity();
  const auto [z, k] = log_parts(x);
  return log_of_parts(k, z - 1.0f);
}

// At most 1.55 ulp. -inf for -1, NaN below.
inline float log1p(float x) {
  if (x == 0 || x != x || x == std::numeric_limits<float>::infinity()) return x;
  if (x < -1) return std::numeric_limits<float>::quiet_NaN();
  if (x == -1) return -std::numeric_limits<float>::infinity();
  const auto [z, k] = log_parts(1.0f + x);
  if (x > 0x1p+24f) return log_of_parts(k, z - 1.0f);
  const float scale = power_of_two(-k);
  return log_of_parts(k, fma(x, scale, scale - 1.0f));
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
