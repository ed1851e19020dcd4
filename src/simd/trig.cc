#include "simd/trig.h"

#include <bit>
#include <cstdint>

#include "simd/two_doubles.h"

namespace qkv {
namespace {

// A GNU type, also on 32-bit targets of clang; __extension__ keeps -Wpedantic quiet about it.
__extension__ using Wide = unsigned __int128;

constexpr double kQuarterPi = 0x1.921fb54442d18p-1;
constexpr double kHalfPiHigh = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;

// 64 zeros, then the bits of 2 / pi after the point: bit n has the weight 2^(63 - n).
constexpr std::uint64_t kTwoOverPi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

std::uint64_t bits_from(int n) {
  const std::uint64_t* word = kTwoOverPi + n / 64;
  const int shift = n % 64;
  return shift == 0 ? word[0] : word[0] << shift | word[1] >> (64 - shift);
}

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

// x = (quadrant + 4 n) pi / 2 + rest, |rest| <= pi / 4.
struct Reduced {
  unsigned quadrant;
  TwoDoubles rest;
};

// For x > pi / 4 (Payne and Hanek 1983). x = m 2^e with an integer m of 53 bits. Of 2 / pi, the
// bits of a weight that times 2^e is 4 or more give multiples of 4, whatever m is. The next 192 are
// enough: their product with m has 2 bits before the point and 190 after it, no double is nearer
// than 2^-62 to a multiple of pi / 2, and the bits left out come to less than 2^-137.
Reduced reduce(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t m = (bits & 0x000fffffffffffff) | 0x0010000000000000;
  const int first = static_cast<int>(bits >> 52) - 1075 + 62;
  const Wide low = Wide{m} * bits_from(first + 128);
  const Wide middle = Wide{m} * bits_from(first + 64) + (low >> 64);
  const std::uint64_t high = m * bits_from(first) + static_cast<std::uint64_t>(middle >> 64);

  // The fraction of a quadrant, as 128 bits and 62 more.
  Wide fraction = (Wide{high} << 64 | static_cast<std::uint64_t>(middle)) << 2 |
                  static_cast<std::uint64_t>(low) >> 62;
  std::uint64_t tail = static_cast<std::uint64_t>(low) << 2;
  auto quadrant = static_cast<unsigned>(high >> 62);
  const bool above = fraction >> 127 != 0;  // half a quadrant or more: count from the next one
  if (above) {
    ++quadrant;
    fraction = ~fraction;
    tail = ~tail;  // 1 - f but for a unit in the last place
  }
  // 1 to 61 of them: it is below one half, and no nearer to 0 than said above.
  const int zeros = std::countl_zero(static_cast<std::uint64_t>(fraction >> 64));
  fraction = fraction << zeros | tail >> (64 - zeros);
  const auto first_bits = static_cast<std::uint64_t>(fraction >> 75);  // 53
  const auto next_bits = static_cast<std::uint64_t>(fraction >> 11);   // 64
  const double f_high = static_cast<double>(first_bits) * power_of_two(-53 - zeros);
  const double f_low = static_cast<double>(next_bits) * power_of_two(-117 - zeros);

  const TwoDoubles product = exact_product(f_high, kHalfPiHigh);
  TwoDoubles rest =
      quick_sum(product.high, product.low + (f_high * kHalfPiLow + f_low * kHalfPiHigh));
  if (above) rest = {-rest.high, -rest.low};
  return {quadrant % 4, rest};
}

// 1 / n!, rounded once: n! is exact in double up to 22.
struct Reciprocals {
  double of[19];
  constexpr Reciprocals() : of() {
    double factorial = 1;
    for (int n = 0; n < 19; ++n) {
      if (n > 1) factorial *= n;
      of[n] = 1 / factorial;
    }
  }
};
constexpr Reciprocals kFactorials;

SinCos by_series(const TwoDoubles& rest) {
  const double r = rest.high, w = r * r, half = 0.5 * w;
  double p = 0;  // 1 / 3! - w / 5! + w^2 / 7! - ... + w^7 / 17!
  for (int n = 17; n >= 3; n -= 2) p = kFactorials.of[n] - w * p;
  double q = 0;  // 1 / 4! - w / 6! + ... - w^7 / 18!
  for (int n = 18; n >= 4; n -= 2) q = kFactorials.of[n] - w * q;
  const double most = 1.0 - half;
  return {r - (r * (w * p) - rest.low * most),
          most + (((1.0 - most) - half) + (w * (w * q) - r * rest.low))};
}

}  // namespace

SinCos sin_cos(double angle) {
  const double x = angle < 0 ? -angle : angle;
  const Reduced reduced = x <= kQuarterPi ? Reduced{0, {x, 0.0}} : reduce(x);
  const SinCos of_rest = by_series(reduced.rest);
  const double sines[] = {of_rest.sin, of_rest.cos, -of_rest.sin, -of_rest.cos};
  const double sine = sines[reduced.quadrant];
  return {angle < 0 ? -sine : sine, sines[(reduced.quadrant + 1) % 4]};
}

}  // namespace qkv
