#include "random/double_math.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace qkv::random {
namespace {

// log(2) in two parts. The upper one ends in zeros, so that its product with an exponent is exact.
constexpr double kLog2High = 0x1.62e42feep-1;
constexpr double kLog2Low = 0x1.a39ef35793c76p-33;

}  // namespace

// The result is only ever compared with a random number of 53 bits, so its last bit decides less
// than one draw in 10^13: any good exp gives NumPy's numbers.
double exp_nonpositive(double x) {
  constexpr double kInverseLog2 = 0x1.71547652b82fep+0;
  constexpr int kDegree = 13;  // the rest of the series is below 2^-57 for |r| <= log(2) / 2
  const int exponent = static_cast<int>(x * kInverseLog2 - 0.5);
  const double r = (x - exponent * kLog2High) - exponent * kLog2Low;
  double series = 1.0;
  for (int n = kDegree; n > 0; --n) series = 1.0 + r * series / n;
  const double power = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
  return series * power;
}

// Here the last bit matters: it reaches the numbers in the tail. NumPy calls the C library's log1p.
// glibc's follows fdlibm's method (Sun Microsystems 1993, s_log1p.c) with a * b + c fused where the
// processor can do that, and is off by one bit for one argument in 14. So this is that method with
// the published coefficients, the same operations fused. std::fma is exactly defined by IEEE 754
// and the only function of the C library here.
//
// 1 - u = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2). With s = f / (2 + f) and a
// polynomial R in s^2 for (log((1 + s) / (1 - s)) - 2 s) / s,
// log(1 + f) = f - (f^2 / 2 - s (f^2 / 2 + R)).
double log_of_complement(double u) {
  constexpr double kL1 = 0x1.5555555555593p-1;
  constexpr double kL2 = 0x1.999999997fa04p-2;
  constexpr double kL3 = 0x1.2492494229359p-2;
  constexpr double kL4 = 0x1.c71c51d8e78afp-3;
  constexpr double kL5 = 0x1.7466496cb03dep-3;
  constexpr double kL6 = 0x1.39a09d078c69fp-3;
  constexpr double kL7 = 0x1.2f112df3e5244p-3;
  constexpr double kTwoThirds = 0x1.5555555555555p-1;
  constexpr double kTiny = 0x1p-29;         // below it, two terms of the series are enough
  constexpr double kShift = 0x1.2bec4p-2;   // 1 - sqrt(1/2), nearly; k is 0 below it
  constexpr double kSmallLow = -0x1.8p-20;  // f from here ...
  constexpr double kSmallHigh = 0x1p-20;    // ... to here needs three terms
  constexpr std::uint64_t kMantissa = 0xfffffffffffff;
  constexpr std::uint64_t kSqrt2Mantissa = 0x6a09e00000000;  // of sqrt(2), nearly
  constexpr std::uint64_t kOne = 0x3ff0000000000000;
  constexpr std::uint64_t kHalf = 0x3fe0000000000000;

  if (u < kTiny) return -u - u * u * 0.5;

  int k = 0;
  double f = -u;
  if (u >= kShift) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(1.0 - u);  // exact
    const std::uint64_t mantissa = bits & kMantissa;
    const bool upper = mantissa >= kSqrt2Mantissa;
    k = static_cast<int>(bits >> 52) - 1023 + (upper ? 1 : 0);
    f = std::bit_cast<double>(mantissa | (upper ? kHalf : kOne)) - 1.0;
  }

  const double half_square = 0.5 * f * f;
  if (k != 0 && kSmallLow <= f && f < kSmallHigh) {
    const double rest = half_square * std::fma(-kTwoThirds, f, 1.0);
    return k * kLog2High - ((rest - k * kLog2Low) - f);
  }
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double z2 = z * z;
  const double z4 = z2 * z2;
  const double z6 = z4 * z2;
  double polynomial = std::fma(z, kL1, z2 * std::fma(z, kL3, kL2));
  polynomial = std::fma(z4, std::fma(z, kL5, kL4), polynomial);
  polynomial = std::fma(z6, std::fma(z, kL7, kL6), polynomial);
  const double correction = s * (half_square + polynomial);
  if (k == 0) return f - (half_square - correction);
  return k * kLog2High - ((half_square - (k * kLog2Low + correction)) - f);
}

}  // namespace qkv::random
