#include "simd/power.h"

#include <bit>
#include <cstdint>

#include "simd/two_doubles.h"

namespace qkv {
namespace {

// log(2) in two parts. The upper one ends in zeros, so that its product with an exponent is exact.
constexpr double kLog2High = 0x1.62e42feep-1, kLog2Low = 0x1.a39ef35793c76p-33;

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

// As simd/log.cc has it, with s in two doubles and the sum kept in two, to about 2^-60.
TwoDoubles log_in_two(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  double z = std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);  // [1, 2)
  auto k = static_cast<int>(bits >> 52) - 1023;
  if (z >= 0x1.6a09e667f3bcdp+0) {  // sqrt(2)
    z *= 0.5;
    ++k;
  }
  const double f = z - 1.0;
  const TwoDoubles sum = quick_sum(2.0, f);
  const double s = f / sum.high;
  const TwoDoubles back = exact_product(s, sum.high);
  const double s_low = (((f - back.high) - back.low) - s * sum.low) / sum.high;
  const double w = s * s;
  double q = 0;  // w / 3 + w^2 / 5 + ... + w^11 / 23
  for (int n = 23; n >= 3; n -= 2) q = (q + 1.0 / n) * w;
  const TwoDoubles most = quick_sum(k * kLog2High, 2.0 * s);
  return quick_sum(most.high, most.low + (2.0 * (s_low + s * q) + k * kLog2Low));
}

// exp(y.high + y.low): 2^k exp(r) with r = y - k log(2), |r| <= log(2) / 2.
double exp_of_two(const TwoDoubles& y) {
  constexpr double kMagic = 0x1.8p52;  // added, it leaves the nearest integer in the low bits
  const double k = (y.high * 0x1.71547652b82fep+0 + kMagic) - kMagic;
  const double high = y.high - k * kLog2High;  // exact
  const double low = y.low - k * kLog2Low;
  const double r = high + low;
  const double r_low = (high - (r - (r - high))) + (low - (r - high));
  double factorial = 87178291200, q = 0;  // 14!
  for (int n = 14; n >= 2; --n) {         // 1 / 2! + r / 3! + ... + r^12 / 14!
    q = 1.0 / factorial + r * q;
    factorial /= n;
  }
  const double e = 1.0 + (r + (r * r * q + r_low));
  // In two steps, since 2^k alone may be out of range.
  const int exponent = static_cast<int>(k), half = exponent / 2;
  return e * power_of_two(half) * power_of_two(exponent - half);
}

}  // namespace

double power(double base, double n, double d) {
  const TwoDoubles logarithm = log_in_two(base);
  const double share = n / d;
  const TwoDoubles back = exact_product(share, d);
  const double share_low = ((n - back.high) - back.low) / d;
  const TwoDoubles most = exact_product(share, logarithm.high);
  return exp_of_two(
      quick_sum(most.high, most.low + (share * logarithm.low + share_low * logarithm.high)));
}

}  // namespace qkv
