// exp, tanh and log in double by plain loops over their series, without fma and without libm, so
// that float64 results have the same bits on every machine. About 1 ulp each.
#ifndef QKV_KERNELS_REFERENCE_FUNCTIONS_H_
#define QKV_KERNELS_REFERENCE_FUNCTIONS_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace qkv::reference {

inline double power_of_two(std::int64_t n) {  // -1022 <= n <= 1023
  return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

// exp(x) = 2^n exp(r), r = x - n ln 2, |r| <= 0.35; the Taylor series ends where terms are 2^-57.
inline double exp(double x) {
  if (x != x) return x;
  if (x < -745.2) return 0.0;
  if (x > 709.8) return std::numeric_limits<double>::infinity();
  constexpr double kMagic = 0x1.8p+52;  // adding it rounds to the nearest integer
  const double n = (x * 0x1.71547652b82fep+0 + kMagic) - kMagic;
  const double r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
  double y = 1.0;
  for (int k = 14; k >= 1; --k) y = 1.0 + y * r / k;
  const auto whole = static_cast<std::int64_t>(n);
  const std::int64_t half = whole / 2;  // in two steps, for results below 2^-1022
  return y * power_of_two(half) * power_of_two(whole - half);
}

inline double tanh(double x) {
  const double a = std::abs(x);
  double y;
  if (a < 0.35) {
    // (e^2a - 1) / (e^2a + 1) with e^2a - 1 by its own series, which keeps small a exact.
    double u = 1.0;
    for (int k = 22; k >= 2; --k) u = 1.0 + u * (2.0 * a) / k;
    u = u * (2.0 * a);
    y = u / (u + 2.0);
  } else {
    const double e = exp(-2.0 * a);
    y = 1.0 - 2.0 * e / (1.0 + e);
  }
  return std::copysign(y, x);
}

// For x > 0, x not subnormal; NaN and +inf give themselves. x = 2^k z with z in [sqrt(1/2),
// sqrt(2)); log z = 2 atanh(s), s = (z - 1) / (z + 1).
inline double log(double x) {
  if (!(x <= std::numeric_limits<double>::max())) return x;
  auto k = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(x) >> 52) - 1023;
  double z = x * power_of_two(-k / 2) * power_of_two(-k - -k / 2);
  if (z >= 0x1.6a09e667f3bcdp+0) {
    z *= 0.5;
    k += 1;
  }
  const double f = z - 1.0;
  const double s = f / (2.0 + f);
  double q = 0;
  for (int n = 23; n >= 3; n -= 2) q = (q + 1.0 / n) * (s * s);
  const double low = static_cast<double>(k) * 0x1.a39ef35793c76p-33;
  return static_cast<double>(k) * 0x1.62e42feep-1 + (f - (s * (f - 2.0 * q) - low));
}

}  // namespace qkv::reference

#endif  // QKV_KERNELS_REFERENCE_FUNCTIONS_H_
