// The natural logarithms in double against the C library's in long double.
#include "simd/log.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/exact/functions.h"
#include "kernels/reference/functions.h"

namespace qkv::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Logarithm {
  const char* name;
  double (*log)(double);
};
const Logarithm kAll[] = {
    {"simd", &qkv::log}, {"exact", &exact::log}, {"reference", &reference::log}};

double ulps(double got, long double right) {
  if (right == 0) return got == 0 ? 0 : kInf;
  return static_cast<double>(std::abs(static_cast<long double>(got) - right) /
                             std::ldexp(1.0L, std::max(std::ilogb(right), -1022) - 52));
}

template <class F>
void for_each_argument(F f) {
  std::mt19937_64 random(1);
  for (int n = 0; n < 300'000; ++n) {
    // Any normal number; sums of weights, which lie between 1 and the number of keys; near 1.
    const double any = std::bit_cast<double>(0x0010000000000000 +
                                             random() % (0x7ff0000000000000 - 0x0010000000000000));
    const double fraction = static_cast<double>(random() >> 11) * 0x1p-53;
    f(any);
    f(1 + fraction * std::ldexp(1.0, n % 40));
    f(1 + (fraction - 0.5) * std::ldexp(1.0, -(n % 50)));
    f(static_cast<double>(static_cast<float>(1 + fraction * 1000)));
  }
  // Where the reduction changes: powers of two, and the root of 2 times them.
  for (int e = -1022; e < 1024; ++e) {
    for (double edge : {std::ldexp(1.0, e), std::ldexp(0x1.6a09e667f3bcdp+0, e)}) {
      f(edge);
      if (edge > 0x1p-1022) f(std::nextafter(edge, 0.0));
      f(std::nextafter(edge, kInf));
    }
  }
}

TEST(Log, ErrsByAtMostOneUlp) {
  if (std::numeric_limits<long double>::digits <= 53) GTEST_SKIP() << "long double is double here";
  for (const Logarithm& f : kAll) {
    double largest = 0, where = 0;
    for_each_argument([&](double x) {
      const double error = ulps(f.log(x), std::log(static_cast<long double>(x)));
      if (!(error <= largest)) {
        largest = error;
        where = x;
      }
    });
    EXPECT_LE(largest, 1.0) << f.name << " at " << std::hexfloat << where;
  }
}

TEST(Log, HasTheBitsOfTheScalarProgram) {
  for_each_argument([](double x) {
    ASSERT_EQ(std::bit_cast<std::uint64_t>(qkv::log(x)),
              std::bit_cast<std::uint64_t>(exact::log(x)))
        << std::hexfloat << x;
  });
}

TEST(Log, Edges) {
  for (const Logarithm& f : kAll) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(f.log(1.0)), 0u) << f.name;  // +0
    EXPECT_EQ(f.log(kInf), kInf) << f.name;
    EXPECT_TRUE(std::isnan(f.log(std::nan("")))) << f.name;
    EXPECT_EQ(f.log(2.0), 0x1.62e42fefa39efp-1) << f.name;
    EXPECT_EQ(f.log(0.5), -0x1.62e42fefa39efp-1) << f.name;
    EXPECT_NEAR(f.log(0x1p-1022), -708.39641853226408, 1e-12) << f.name;
    EXPECT_NEAR(f.log(std::numeric_limits<double>::max()), 709.78271289338397, 1e-12) << f.name;
  }
}

}  // namespace
}  // namespace qkv::test
