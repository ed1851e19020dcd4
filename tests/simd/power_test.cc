// Powers against mpmath (expected.h).
#include "simd/power.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "simd/expected.h"

namespace qkv::test {
namespace {

TEST(Power, ErrsByLessThanOneUlp) {
  double largest = 0;
  for (const ExpectedPower& expected : kExpectedPowers) {
    const double got = power(expected.base, expected.n, expected.d);
    const int exponent = std::max(std::ilogb(expected.high), -1022);
    const double error = std::abs(std::ldexp((got - expected.high) - expected.low, 52 - exponent));
    EXPECT_LT(error, 0.9) << std::hexfloat << expected.base << " to the " << expected.n << " / "
                          << expected.d << " gives " << got;
    largest = std::max(largest, error);
  }
  EXPECT_GT(largest, 0.4) << "an error that no rounding explains would be a broken measure";
}

// Where one division is as good, so that many bases can be tried.
TEST(Power, OfMinusOneErrsByLessThanOneUlp) {
  if (std::numeric_limits<long double>::digits <= 53) GTEST_SKIP() << "long double is double here";
  std::mt19937_64 random(4);
  double largest = 0;
  for (int n = 0; n < 100'000; ++n) {
    const double fraction = static_cast<double>(random() >> 12) * 0x1p-52;
    const double base = std::ldexp(1 + fraction, static_cast<int>(random() % 1000));
    const long double right = 1 / static_cast<long double>(base);
    const long double error = (power(base, -7, 7) - right) / right;
    const long double ulp = std::ldexp(1.0L, std::ilogb(right) - 52) / right;
    largest = std::max(largest, static_cast<double>(std::abs(error) / ulp));
  }
  EXPECT_LT(largest, 0.9);
}

TEST(Power, WholeAndHalfExponents) {
  for (double base : {1.0, 4.0, 10000.0, 0x1p600}) {
    EXPECT_EQ(power(base, 0, 5), 1);
    EXPECT_EQ(power(base, -3, 3), 1 / base);
    EXPECT_EQ(power(base, -2, 4), 1 / std::sqrt(base));
  }
}

}  // namespace
}  // namespace qkv::test
