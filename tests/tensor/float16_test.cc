// float16 and bfloat16 against their definitions: sign * fraction * 2^exponent by std::ldexp.
#include "tensor/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace qkv {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

// A small format with `fraction_bits` explicit bits of significand and exponent bias `bias`.
struct Format {
  int fraction_bits;
  int bias;
  int exponents;  // 2^(exponent bits); the last one is Inf and NaN

  bool is_nan(int bits) const { return exponent(bits) == exponents - 1 && fraction(bits) != 0; }
  int fraction(int bits) const { return bits & ((1 << fraction_bits) - 1); }
  int exponent(int bits) const { return (bits >> fraction_bits) & (exponents - 1); }
  double value(int bits) const {
    const double sign = bits & 0x8000 ? -1.0 : 1.0;
    const int e = exponent(bits);
    if (e == exponents - 1) return fraction(bits) == 0 ? sign * HUGE_VAL : NAN;
    if (e == 0) return sign * std::ldexp(fraction(bits), 1 - bias - fraction_bits);
    return sign * std::ldexp((1 << fraction_bits) + fraction(bits), e - bias - fraction_bits);
  }
  // The bits nearest to x, ties to even, for any finite x: by search among the sorted magnitudes.
  std::uint16_t nearest(double x) const {
    const int sign = std::signbit(x) ? 0x8000 : 0;
    const double magnitude = std::abs(x);
    const int infinity = (exponents - 1) << fraction_bits;
    int low = 0, high = infinity;  // value(low) <= magnitude
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (value(middle) <= magnitude ? low : high) = middle;
    }
    // Beyond the largest finite number the next one would be 2^(exponents - 1 - bias).
    const double above = high == infinity ? std::ldexp(1.0, exponents - 1 - bias) : value(high);
    const double to_low = magnitude - value(low), to_high = above - magnitude;
    const bool up = to_high < to_low || (to_high == to_low && low % 2 == 1);
    return static_cast<std::uint16_t>(sign | (up ? high : low));
  }
};

constexpr Format kHalf{10, 15, 32};
constexpr Format kBrain{7, 127, 256};

// All 65,536 patterns.
TEST(Float16, WidensExactly) {
  for (int bits = 0; bits < 65536; ++bits) {
    const float wide = float16_to_float(static_cast<std::uint16_t>(bits));
    if (kHalf.is_nan(bits)) {
      EXPECT_TRUE(std::isnan(wide)) << std::hex << bits;
    } else {
      ASSERT_EQ(bits_of(wide), bits_of(static_cast<float>(kHalf.value(bits)))) << std::hex << bits;
    }
  }
}

TEST(BFloat16, WidensExactly) {
  for (int bits = 0; bits < 65536; ++bits) {
    const float wide = bfloat16_to_float(static_cast<std::uint16_t>(bits));
    if (kBrain.is_nan(bits)) {
      EXPECT_TRUE(std::isnan(wide)) << std::hex << bits;
    } else {
      ASSERT_EQ(bits_of(wide), bits_of(static_cast<float>(kBrain.value(bits)))) << std::hex << bits;
    }
  }
}

template <class Narrow, class Widen>
void expect_round_trip(const Format& format, Narrow narrow, Widen widen, std::uint16_t nan) {
  for (int bits = 0; bits < 65536; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(narrow(widen(pattern)), format.is_nan(bits) ? nan : pattern) << std::hex << bits;
  }
}

TEST(Float16, EveryPatternComesBack) {
  expect_round_trip(kHalf, float_to_float16, float16_to_float, 0x7e00);
}

TEST(BFloat16, EveryPatternComesBack) {
  expect_round_trip(kBrain, float_to_bfloat16, bfloat16_to_float, 0x7fc0);
}

// Around every value and every midpoint of two neighbours: the float itself and its neighbours.
template <class Narrow>
void expect_nearest_around_midpoints(const Format& format, Narrow narrow) {
  const int infinity = (format.exponents - 1) << format.fraction_bits;
  for (int bits = 0; bits < infinity; ++bits) {
    const double low = format.value(bits);
    const double above = bits + 1 == infinity ? std::ldexp(1.0, format.exponents - 1 - format.bias)
                                              : format.value(bits + 1);
    for (double place : {low, (low + above) / 2, (3 * low + above) / 4, (low + 3 * above) / 4}) {
      const auto middle = static_cast<float>(place);
      for (float x : {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, kInfinity)}) {
        if (std::isinf(x)) continue;
        ASSERT_EQ(narrow(x), format.nearest(double{x})) << std::hexfloat << x;
        ASSERT_EQ(narrow(-x), format.nearest(-double{x})) << std::hexfloat << -x;
      }
    }
  }
}

TEST(Float16, NarrowsToNearestEven) { expect_nearest_around_midpoints(kHalf, float_to_float16); }

TEST(BFloat16, NarrowsToNearestEven) { expect_nearest_around_midpoints(kBrain, float_to_bfloat16); }

// A stride through all floats.
TEST(Float16, NarrowsAnyFloat) {
  for (std::uint64_t bits = 0; bits < 0x100000000; bits += 4999) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(x)) {
      ASSERT_EQ(float_to_float16(x), 0x7e00);
      ASSERT_EQ(float_to_bfloat16(x), 0x7fc0);
    } else if (!std::isinf(x)) {
      ASSERT_EQ(float_to_float16(x), kHalf.nearest(double{x})) << std::hexfloat << x;
      ASSERT_EQ(float_to_bfloat16(x), kBrain.nearest(double{x})) << std::hexfloat << x;
    }
  }
}

TEST(Float16, Edges) {
  EXPECT_EQ(float_to_float16(65504.0f), 0x7bff);
  EXPECT_EQ(float_to_float16(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(float_to_float16(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_float16(-1e30f), 0xfc00);
  EXPECT_EQ(float_to_float16(kInfinity), 0x7c00);
  EXPECT_EQ(float_to_float16(0x1p-24f), 0x0001);
  EXPECT_EQ(float_to_float16(0x1p-25f), 0x0000);  // halfway to 0, which is even
  EXPECT_EQ(float_to_float16(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
  EXPECT_EQ(float_to_float16(-0x1p-26f), 0x8000);
  EXPECT_EQ(float_to_float16(-0.0f), 0x8000);
  EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(float_to_bfloat16(-kInfinity), 0xff80);
  EXPECT_EQ(float_to_bfloat16(0x1p-149f), 0x0000);
  EXPECT_EQ(float_to_bfloat16(-0.0f), 0x8000);
  // NaN with all its bits below the ones that stay must not become an infinity.
  EXPECT_EQ(float_to_float16(std::bit_cast<float>(0x7f800001)), 0x7e00);
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0xff800001)), 0x7fc0);
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x7fffffff)), 0x7fc0);
}

}  // namespace
}  // namespace qkv
