// Powers against mpmath (expected.h).
#include "simd/power.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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

TEST(Power, WholeAndHalfExponents) {
  for (double base : {1.0, 4.0, 10000.0, 0x1p600}) {
    EXPECT_EQ(power(base, 0, 5), 1);
    EXPECT_EQ(power(base, -3, 3), 1 / base);
    EXPECT_EQ(power(base, -2, 4), 1 / std::sqrt(base));
  }
}

}  // namespace
}  // namespace qkv::test
