#include "simd/log.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace qkv {

double log(double x) {
  if (!(x <= std::numeric_limits<double>::max())) return x;
  constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  double z = std::bit_cast<double>((bits & kFraction) | (std::uint64_t{1023} << 52));  // [1, 2)
  auto k = static_cast<int>(bits >> 52) - 1023;
  if (z >= 0x1.6a09e667f3bcdp+0) {  // sqrt(2)
    z *= 0.5;
    ++k;
  }
  const double f = z - 1.0;
  const double s = f / (2.0 + f);
  const double w = s * s;
  double q = 0;  // w / 3 + w^2 / 5 + ... + w^11 / 23
  for (int n = 23; n >= 3; n -= 2) q = (q + 1.0 / n) * w;
  const double log2_high = 0x1.62e42feep-1, log2_low = 0x1.a39ef35793c76p-33;
  return k * log2_high + (f - (s * (f - 2.0 * q) - k * log2_low));
}

}  // namespace qkv
