// The vector type's other functions, lane by lane, with NaN, infinities and zeros of both signs.
#include <bit>
#include <cmath>
#include <limits>

#include "simd/functions.h"

namespace qkv::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

// All pairs of some numbers, as two arrays.
struct Pairs {
  std::vector<float> a, b;
  Pairs() {
    const float numbers[] = {0.0f,  -0.0f,     1.0f,       -1.0f, 2.5f, -7.0f, 0x1p-149f, kInf,
                             -kInf, 0x1p-126f, -0x1p-130f, 1e38f, kNaN, -kNaN, 3e-39f,    1.5f};
    for (float x : numbers) {
      for (float y : numbers) {
        a.push_back(x);
        b.push_back(y);
      }
    }
  }
};

class Vector : public VectorTest {
 protected:
  std::vector<float> run(VectorFunctions::Binary f, const std::vector<float>& a,
                         const std::vector<float>& b) {
    std::vector<float> y(a.size());
    f(a.data(), b.data(), y.data(), a.size());
    return y;
  }
};
INSTANTIATE_TEST_SUITE_P(AllIsas, Vector, ::testing::ValuesIn(all_vector_functions()), isa_name);

TEST_P(Vector, LanesDivideABlock) {
  EXPECT_EQ(16 % GetParam().lanes, 0);
  EXPECT_EQ(64 % GetParam().lanes, 0);
}

TEST_P(Vector, ArithmeticIsIeee) {
  const auto& [a, b] = Pairs();
  const std::vector<float> sum = run(GetParam().add, a, b),
                           product = run(GetParam().multiply, a, b);
  const std::vector<float> quotient = run(GetParam().divide, a, b);
  const auto same = [](float x, double right) {
    // One operation of float32 done in double and rounded is right (Figueroa 1995).
    const auto rounded = static_cast<float>(right);
    return std::isnan(right) ? std::isnan(x) : bits_of(x) == bits_of(rounded);
  };
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(same(sum[i], double{a[i]} + double{b[i]})) << a[i] << " + " << b[i];
    EXPECT_TRUE(same(product[i], double{a[i]} * double{b[i]})) << a[i] << " * " << b[i];
    EXPECT_TRUE(same(quotient[i], double{a[i]} / double{b[i]})) << a[i] << " / " << b[i];
  }
}

TEST_P(Vector, Comparisons) {
  const auto& [a, b] = Pairs();
  const std::vector<float> less = run(GetParam().less, a, b), equal = run(GetParam().equal, a, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(less[i], a[i] < b[i]) << a[i] << " < " << b[i];
    EXPECT_EQ(equal[i], a[i] == b[i]) << a[i] << " == " << b[i];
  }
}

// "The larger (smaller) of x and bound; bound if x is NaN." Of zeros of both signs, either.
TEST_P(Vector, BoundsIgnoreNaN) {
  const auto& [x, bound] = Pairs();
  const std::vector<float> most = run(GetParam().max_number, x, bound);
  const std::vector<float> least = run(GetParam().min_number, x, bound);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(bound[i])) continue;
    EXPECT_EQ(most[i], std::isnan(x[i]) ? bound[i] : std::max(x[i], bound[i])) << x[i];
    EXPECT_EQ(least[i], std::isnan(x[i]) ? bound[i] : std::min(x[i], bound[i])) << x[i];
  }
}

TEST_P(Vector, SignsAreBits) {
  const auto& [a, b] = Pairs();
  std::vector<float> magnitude(a.size());
  GetParam().abs(a.data(), magnitude.data(), a.size());
  const std::vector<float> copied = run(GetParam().copy_sign, magnitude, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(bits_of(magnitude[i]), bits_of(a[i]) & 0x7fffffff);
    EXPECT_EQ(bits_of(copied[i]), (bits_of(a[i]) & 0x7fffffff) | (bits_of(b[i]) & 0x80000000));
  }
}

TEST_P(Vector, SelectionKeepsBits) {
  const auto& [a, b] = Pairs();
  std::vector<float> mask(a.size()), y(a.size()), either(a.size()), but_not(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    mask[i] = static_cast<float>((i * 7 + i / 16) % 3 == 0);
  GetParam().select(mask.data(), a.data(), b.data(), y.data(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(bits_of(y[i]), bits_of(mask[i] != 0 ? a[i] : b[i]));
  }
  std::vector<float> other(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) other[i] = static_cast<float>(i % 2);
  GetParam().either_but_not(mask.data(), other.data(), either.data(), but_not.data(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(either[i], mask[i] != 0 || other[i] != 0);
    EXPECT_EQ(but_not[i], mask[i] != 0 && other[i] == 0);
  }
}

TEST_P(Vector, AllNeedsEveryLane) {
  std::vector<float> mask(16, 1.0f);
  EXPECT_TRUE(GetParam().all(mask.data()));
  for (int lane = 0; lane < GetParam().lanes; ++lane) {
    mask[lane] = 0;
    EXPECT_FALSE(GetParam().all(mask.data())) << lane;
    mask[lane] = 1;
  }
  std::fill(mask.begin(), mask.end(), 0.0f);
  EXPECT_FALSE(GetParam().all(mask.data()));
}

TEST_P(Vector, LowIntegerBitsBecomeAnExponent) {
  std::vector<float> x(256), y(256);
  for (std::uint32_t i = 0; i < 256; ++i) {
    x[i] = 0x1.8p+23f + static_cast<float>(i);  // integers in the low bits
  }
  GetParam().bits_to_exponent(x.data(), y.data(), 256);
  for (std::uint32_t i = 0; i < 256; ++i) EXPECT_EQ(bits_of(y[i]), bits_of(x[i]) << 23);
  EXPECT_EQ(y[127], 1.0f);
  EXPECT_EQ(y[1], 0x1p-126f);
}

// All 65,536 patterns; NaN stays NaN.
TEST_P(Vector, HalvesAreWidenedExactly) {
  std::vector<std::uint16_t> x(65536);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i);
  std::vector<float> half(x.size()), brain(x.size());
  GetParam().load_float16(x.data(), half.data(), x.size());
  GetParam().load_bfloat16(x.data(), brain.data(), x.size());
  for (int i = 0; i < 65536; ++i) {
    const int exponent = i >> 10 & 31, fraction = i & 1023;
    const double sign = i & 0x8000 ? -1.0 : 1.0;
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(half[i])) << std::hex << i;
    } else {
      const double right = exponent == 31  ? sign * HUGE_VAL
                           : exponent == 0 ? sign * std::ldexp(fraction, -24)
                                           : sign * std::ldexp(1024 + fraction, exponent - 25);
      ASSERT_EQ(bits_of(half[i]), bits_of(static_cast<float>(right))) << std::hex << i;
    }
    // A bfloat16 is the upper half of a float32. Quieting a NaN is allowed.
    if (std::isnan(brain[i])) {
      EXPECT_GT(i & 0x7fff, 0x7f80);
    } else {
      ASSERT_EQ(bits_of(brain[i]), static_cast<std::uint32_t>(i) << 16);
    }
  }
}

TEST_P(Vector, BitsOfWords) {
  std::vector<std::uint32_t> words(32);
  for (std::uint32_t i = 0; i < 32; ++i) words[i] = std::uint32_t{1} << i;
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    std::vector<float> mask(32);
    GetParam().bit_set(words.data(), std::uint32_t{1} << bit, mask.data(), 32);
    for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(mask[i], i == bit) << bit;
  }
}

TEST_P(Vector, Distances) {
  std::vector<std::int32_t> offsets = {0,
                                       1,
                                       -1,
                                       5,
                                       -5,
                                       100000,
                                       -99999,
                                       1 << 24,
                                       (1 << 24) + 1,
                                       (1 << 24) + 3,
                                       1 << 29,
                                       -(1 << 29),
                                       1 << 30,
                                       -(1 << 30),
                                       12345678,
                                       -7};
  for (std::int32_t x : {0, 1, -1, 63, 1000, -(1 << 29), 1 << 29}) {
    std::vector<float> y(16);
    GetParam().distance(offsets.data(), x, y.data(), 16);
    for (std::size_t i = 0; i < 16; ++i) {
      const std::int64_t right = std::abs(std::int64_t{offsets[i]} - x);
      EXPECT_EQ(y[i], static_cast<float>(right)) << offsets[i] << " - " << x;
    }
  }
}

TEST_P(Vector, TransposesStripsOfFour) {
  const auto lanes = static_cast<std::size_t>(GetParam().lanes);
  const std::size_t stride = 7;
  std::vector<float> rows(lanes * stride), y(4 * lanes);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  GetParam().load_transposed4(rows.data(), stride, y.data());
  for (std::size_t c = 0; c < 4; ++c) {
    for (std::size_t r = 0; r < lanes; ++r) EXPECT_EQ(y[c * lanes + r], rows[r * stride + c]);
  }
}

}  // namespace
}  // namespace qkv::test
