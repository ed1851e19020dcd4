// Sine and cosine against mpmath (expected.h): of any angle, and where reducing it is hardest.
#include "simd/trig.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "simd/expected.h"

namespace qkv::test {
namespace {

double ulps(double got, double high, double low) {
  if (high == 0) return got == 0 ? 0 : std::numeric_limits<double>::infinity();
  const int exponent = std::max(std::ilogb(high), -1022);
  return std::abs(std::ldexp((got - high) - low, 52 - exponent));  // got - high is exact nearby
}

TEST(SinCos, ErrByLessThanOneUlp) {
  double largest = 0;
  int tiny = 0;
  for (const ExpectedSinCos& expected : kExpectedSinCos) {
    const SinCos got = sin_cos(expected.angle);
    const double of_sin = ulps(got.sin, expected.sin_high, expected.sin_low);
    const double of_cos = ulps(got.cos, expected.cos_high, expected.cos_low);
    EXPECT_LT(of_sin, 0.8) << std::hexfloat << expected.angle << " has sine " << got.sin;
    EXPECT_LT(of_cos, 0.8) << std::hexfloat << expected.angle << " has cosine " << got.cos;
    largest = std::max({largest, of_sin, of_cos});
    tiny += std::abs(expected.sin_high) < 0x1p-50 || std::abs(expected.cos_high) < 0x1p-50;
  }
  EXPECT_GT(largest, 0.5) << "an error that no rounding explains would be a broken measure";
  EXPECT_GT(tiny, 60) << "too few angles beside a multiple of pi / 2";
}

TEST(SinCos, AgreeWithTheCLibrary) {
  // Where its long double is longer: any finite angle, and those of ordinary sizes.
  if (std::numeric_limits<long double>::digits <= 53) GTEST_SKIP() << "long double is double here";
  std::mt19937_64 random(3);
  double largest = 0, where = 0;
  for (int n = 0; n < 200'000; ++n) {
    double x = std::bit_cast<double>(random() >> 1);
    if (!std::isfinite(x)) continue;
    if (n % 2 == 0) x = static_cast<double>(random() >> 40) * std::ldexp(1.0, -(n % 24));
    const SinCos got = sin_cos(x);
    const long double wide[] = {std::sin(static_cast<long double>(x)),
                                std::cos(static_cast<long double>(x))};
    const double values[] = {got.sin, got.cos};
    for (int f = 0; f < 2; ++f) {
      const auto high = static_cast<double>(wide[f]);
      const double error = ulps(values[f], high, static_cast<double>(wide[f] - high));
      if (!(error <= largest)) {
        largest = error;
        where = x;
      }
    }
  }
  EXPECT_LT(largest, 0.8) << std::hexfloat << where;
}

TEST(SinCos, Symmetry) {
  for (const ExpectedSinCos& expected : kExpectedSinCos) {
    const SinCos there = sin_cos(expected.angle), back = sin_cos(-expected.angle);
    EXPECT_EQ(there.sin, -back.sin);
    EXPECT_EQ(there.cos, back.cos);
  }
}

}  // namespace
}  // namespace qkv::test
