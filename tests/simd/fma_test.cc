// Fused multiply-add on directed cases. Random inputs can't tell it from rounding twice: of four
// million none differs. Of those below one in fifteen does.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

#include "kernels/exact/functions.h"
#include "simd/exact_fma.h"
#include "simd/functions.h"

namespace qkv::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Triple {
  float a, b, c;
};

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

bool same(float x, float y) { return (x != x && y != y) || bits_of(x) == bits_of(y); }

// The product is half a unit in the last place of c, but for a part of 2^-2k: a sum that double
// rounds to the midpoint. All signs, even and odd c.
std::vector<Triple> near_midpoints(int count) {
  std::mt19937 random(1);
  std::vector<Triple> cases;
  for (int n = 0; n < count; ++n) {
    const int exponent = static_cast<int>(random() % 200) - 100;
    const int k = 11 + static_cast<int>(random() % 13);  // 2^-22 to 2^-46 of the half unit
    const float part = std::ldexp(1.0f, -k);
    const float half_unit = std::ldexp(1.0f, exponent - 24);
    float c = std::ldexp(static_cast<float>(0x800000 | (random() & 0x7fffff)), exponent - 23);
    if (n % 5 == 0) c = std::ldexp(1.0f, exponent);  // a power of two: units differ on its sides
    const float scale = n % 5 == 0 && n % 2 == 0 ? 0.5f : 1.0f;
    float a = n % 3 == 0 ? 1.0f : 1.0f + part, b = (n % 3 == 1 ? 1.0f : 1.0f - part) * half_unit;
    a *= random() % 2 == 0 ? scale : -scale;
    c *= random() % 2 == 0 ? 1.0f : -1.0f;
    cases.push_back({a, b, c});
  }
  return cases;
}

// Results below 2^-126, around the midpoints of their coarse grid of 2^-149.
std::vector<Triple> subnormal_results(int count) {
  std::mt19937 random(2);
  std::vector<Triple> cases;
  for (int n = 0; n < count; ++n) {
    const int k = 8 + static_cast<int>(random() % 16);
    const float part = std::ldexp(1.0f, -k);
    const auto steps = static_cast<float>(random() % 0x800000);
    float c = std::ldexp(steps, -149);  // subnormal
    // Half a step of the grid, or some steps and a half, but for a part of 2^-2k.
    const auto whole = static_cast<float>(random() % (n % 2 == 0 ? 1 : 512));
    float a = (whole + 0.5f) * (1.0f + part), b = std::ldexp(1.0f - part, -70);
    a = std::ldexp(a, -79);
    if (n % 7 == 0) c = 0;
    if (random() % 2 == 0) a = -a;
    if (random() % 2 == 0) c = -c;
    cases.push_back({a, b, c});
  }
  return cases;
}

// Sums next to the largest float plus half a unit, 2^103, from which on they are infinite.
std::vector<Triple> overflows(int count) {
  std::mt19937 random(3);
  std::vector<Triple> cases;
  for (int n = 0; n < count; ++n) {
    const float part = std::ldexp(1.0f, -(8 + static_cast<int>(random() % 16)));
    const float c = n % 3 == 0 ? kMax : std::nextafter(kMax, 0.0f);
    const float a = std::ldexp(1.0f + (n % 2 == 0 ? part : 0), n % 3 == 0 ? 50 : 51);
    const float b = std::ldexp(1.0f - (n % 4 < 2 ? part : -part), n % 3 == 0 ? 53 : 53);
    const float sign = random() % 2 == 0 ? 1.0f : -1.0f;
    cases.push_back({a, sign * b, sign * c});
  }
  return cases;
}

// Products that cancel c but for their last bits, and products far above or below c.
std::vector<Triple> cancellations(int count) {
  std::mt19937 random(4);
  std::vector<Triple> cases;
  const auto any = [&](int low, int high) {
    const int exponent = low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    return std::ldexp(static_cast<float>(0x800000 | (random() & 0x7fffff)), exponent - 23);
  };
  for (int n = 0; n < count; ++n) {
    const float a = any(-60, 60), b = any(-60, 60);
    const float product = a * b;
    float c = -product;
    if (n % 4 == 1) c = std::nextafter(c, kInf);
    if (n % 4 == 2) c = any(-126, 127);
    if (n % 4 == 3) c = -product * std::ldexp(1.0f, static_cast<int>(random() % 100) - 50);
    cases.push_back({a, b, c});
  }
  return cases;
}

// Any bits that are finite.
std::vector<Triple> random_bits(int count) {
  std::mt19937 random(5);
  const auto any = [&] {
    while (true) {
      const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      if (std::isfinite(x)) return x;
    }
  };
  std::vector<Triple> cases;
  for (int n = 0; n < count; ++n) {
    const float a = any(), b = any(), c = any();
    cases.push_back({a, b, c});
  }
  return cases;
}

std::vector<Triple> all_finite_cases() {
  std::vector<Triple> cases;
  for (const std::vector<Triple>& some :
       {near_midpoints(200'000), subnormal_results(200'000), overflows(20'000),
        cancellations(100'000), random_bits(100'000)}) {
    std::copy_if(some.begin(), some.end(), std::back_inserter(cases), [](const Triple& t) {
      return std::isfinite(t.a) && std::isfinite(t.b) && std::isfinite(t.c);
    });
  }
  // Zeros of every sign, and the smallest and largest numbers.
  const float edges[] = {0.0f, 0x1p-149f, 0x1.fffffcp-127f, 0x1p-126f, 1.0f, 0x1p-75f, kMax};
  for (float a : edges) {
    for (float b : edges) {
      for (float c : edges) {
        for (int signs = 0; signs < 8; ++signs) {
          cases.push_back({signs & 1 ? -a : a, signs & 2 ? -b : b, signs & 4 ? -c : c});
        }
      }
    }
  }
  while (cases.size() % 16 != 0) cases.push_back({1, 1, 1});
  return cases;
}

// The answers by integer arithmetic.
struct Answers {
  std::vector<Triple> cases = all_finite_cases();
  std::vector<float> results;
  Answers() {
    for (const Triple& t : cases) results.push_back(exact_fma(t.a, t.b, t.c));
  }
};
const Answers& answers() {
  static const Answers once;
  return once;
}

TEST(Directed, CasesTellFusedFromRoundedTwice) {
  int by_double = 0, by_float = 0, subnormal = 0, infinite = 0;
  for (std::size_t i = 0; i < answers().cases.size(); ++i) {
    const auto& [a, b, c] = answers().cases[i];
    const float right = answers().results[i];
    const auto twice = static_cast<float>(double{a} * double{b} + double{c});
    const float product = a * b;
    by_double += !same(twice, right);
    by_float += !same(product + c, right);
    subnormal += right != 0 && std::abs(right) < 0x1p-126f;
    infinite += std::isinf(right);
  }
  EXPECT_GT(by_double, 10'000);
  EXPECT_GT(by_float, 50'000);
  EXPECT_GT(subnormal, 100'000);
  EXPECT_GT(infinite, 5'000);
}

// Two independent answers: integers, and the C library (in hardware where there is an FMA unit).
TEST(Directed, IntegersAgreeWithTheCLibrary) {
  for (std::size_t i = 0; i < answers().cases.size(); ++i) {
    const auto& [a, b, c] = answers().cases[i];
    const float by_library = std::fma(a, b, c);
    ASSERT_TRUE(same(by_library, answers().results[i]))
        << std::hexfloat << a << " * " << b << " + " << c << " = " << answers().results[i]
        << " by integers, " << by_library << " by the C library";
  }
}

TEST(ExactFma, IsFused) {
  for (std::size_t i = 0; i < answers().cases.size(); ++i) {
    const auto& [a, b, c] = answers().cases[i];
    const float got = exact::fma(a, b, c);
    ASSERT_TRUE(same(got, answers().results[i]))
        << std::hexfloat << a << " * " << b << " + " << c << " = " << answers().results[i]
        << ", not " << got;
  }
}

const Triple kSpecial[] = {
    {kInf, 1, 1},         {kInf, -1, 1},       {1, kInf, -kInf},    {-kInf, 1, -kInf},
    {kInf, 0, 1},         {0, kInf, kNaN},     {1, 1, kInf},        {1, 1, -kInf},
    {kMax, kMax, 0},      {kMax, kMax, -kInf}, {kMax, -kMax, kInf}, {kNaN, 0, 0},
    {0, kNaN, 0},         {0, 0, kNaN},        {kNaN, kInf, 1},     {kInf, kInf, -kInf},
    {kInf, -kInf, -kInf}, {-0.0f, 1, kInf},    {kMax, kMax, -kMax},
};

// What IEEE 754 gives: NaN for Inf - Inf and 0 * Inf, else the infinity there is.
float special_result(const Triple& t) {
  if (t.a != t.a || t.b != t.b || t.c != t.c) return kNaN;
  const bool infinite_product = std::isinf(t.a) || std::isinf(t.b);
  if (infinite_product && (t.a == 0 || t.b == 0)) return kNaN;
  const bool negative = std::signbit(t.a) != std::signbit(t.b);
  if (infinite_product) {
    if (std::isinf(t.c) && std::signbit(t.c) != negative) return kNaN;
    return negative ? -kInf : kInf;
  }
  if (std::isinf(t.c)) return t.c;
  return exact_fma(t.a, t.b, t.c);
}

TEST(ExactFma, InfinitiesAndNaN) {
  for (const Triple& t : kSpecial) {
    EXPECT_TRUE(same(exact::fma(t.a, t.b, t.c), special_result(t)))
        << t.a << " * " << t.b << " + " << t.c << " = " << exact::fma(t.a, t.b, t.c);
  }
}

class VectorFma : public VectorTest {};
INSTANTIATE_TEST_SUITE_P(AllIsas, VectorFma, ::testing::ValuesIn(all_vector_functions()), isa_name);

TEST_P(VectorFma, IsFused) {
  const std::size_t count = answers().cases.size();
  std::vector<float> a, b, c, y(count);
  for (const Triple& t : answers().cases) {
    a.push_back(t.a);
    b.push_back(t.b);
    c.push_back(t.c);
  }
  GetParam().fma(a.data(), b.data(), c.data(), y.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(same(y[i], answers().results[i]))
        << std::hexfloat << a[i] << " * " << b[i] << " + " << c[i] << " = " << answers().results[i]
        << ", not " << y[i];
  }
}

TEST_P(VectorFma, InfinitiesAndNaN) {
  // Each case in every lane, among others.
  for (const Triple& t : kSpecial) {
    for (int lane = 0; lane < GetParam().lanes; ++lane) {
      std::vector<float> a(16, 2.0f), b(16, 3.0f), c(16, 1.0f), y(16);
      a[lane] = t.a;
      b[lane] = t.b;
      c[lane] = t.c;
      GetParam().fma(a.data(), b.data(), c.data(), y.data(), 16);
      for (int i = 0; i < 16; ++i) {
        EXPECT_TRUE(same(y[i], i == lane ? special_result(t) : 7.0f))
            << t.a << " * " << t.b << " + " << t.c << " in lane " << lane << ": " << y[i];
      }
    }
  }
}

}  // namespace
}  // namespace qkv::test
