// exp and tanh against the C library's in double, which errs by less than 2^-52 of the value.
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "kernels/exact/functions.h"
#include "kernels/reference/functions.h"
#include "simd/errors.h"
#include "simd/functions.h"

namespace qkv::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kLowest = -0x1.5d589ep+6f;  // exp of anything below is +0
const float kNaN = std::numeric_limits<float>::quiet_NaN();

// All of [kLowest, -0], and the last 20,000 floats at either end one by one.
std::vector<float> exp_arguments() {
  const std::uint32_t zero = bits_of(-0.0f), lowest = bits_of(kLowest);
  std::vector<float> x = every(zero, lowest, 997);
  for (const std::vector<float>& end :
       {every(zero, zero + 19'999, 1), every(lowest - 20'000, lowest, 1),
        every(bits_of(-1.0f) - 5000, bits_of(-1.0f) + 5000, 1)}) {
    x.insert(x.end(), end.begin(), end.end());
  }
  // Around odd multiples of ln 2 / 2, where the argument reduction changes its integer.
  for (int n = 1; n < 253; n += 2) {
    float edge = -static_cast<float>(n * 0.34657359027997264);
    for (int i = 0; i < 4; ++i) edge = std::nextafter(edge, 0.0f);
    for (int i = 0; i < 16; ++i, edge = std::nextafter(edge, -kInf)) x.push_back(edge);
  }
  while (x.size() % 16 != 0) x.push_back(-1.0f);
  return x;
}

std::vector<float> tanh_arguments() {
  std::vector<float> x = every(0, bits_of(kInf), 1999);  // subnormals and all the rest
  const std::vector<float> middle = every(bits_of(0.6f) - 20'000, bits_of(0.6f) + 20'000, 1);
  x.insert(x.end(), middle.begin(), middle.end());
  const std::size_t count = x.size();
  for (std::size_t i = 0; i < count; ++i) x.push_back(-x[i]);
  return x;
}

TEST(ExactFunctions, ExpErrsByAtMost0Point9Ulp) {
  const std::vector<float> x = exp_arguments();
  float where = 0;
  EXPECT_LE(largest_error(x, map(x, exact::exp), std::exp, where), 0.9) << std::hexfloat << where;
}

TEST(ExactFunctions, TanhErrsByAtMost1Point5Ulp) {
  const std::vector<float> x = tanh_arguments();
  float where = 0;
  EXPECT_LE(largest_error(x, map(x, exact::tanh), std::tanh, where), 1.5) << std::hexfloat << where;
}

const std::pair<float, float> kExpEdges[] = {
    {0.0f, 1.0f},
    {-0.0f, 1.0f},
    {-kInf, 0.0f},
    {std::nextafter(kLowest, -kInf), 0.0f},
    {-88.0f, 0.0f},
    {-1e30f, 0.0f},
    {-std::numeric_limits<float>::max(), 0.0f},
    {-0x1p-149f, 1.0f},
    {-0x1p-126f, 1.0f},
    {-0x1p-26f, 1.0f},
};

TEST(ExactFunctions, ExpAtItsEdges) {
  for (const auto& [x, y] : kExpEdges) EXPECT_EQ(bits_of(exact::exp(x)), bits_of(y)) << x;
  EXPECT_GE(exact::exp(kLowest), 0x1p-126f);
  EXPECT_TRUE(std::isnan(exact::exp(kNaN)));
}

const std::pair<float, float> kTanhEdges[] = {
    {0.0f, 0.0f},           {-0.0f, -0.0f},         {kInf, 1.0f},
    {-kInf, -1.0f},         {20.0f, 1.0f},          {-20.0f, -1.0f},
    {1e38f, 1.0f},          {0x1p-149f, 0x1p-149f}, {-0x1p-149f, -0x1p-149f},
    {0x1p-126f, 0x1p-126f}, {0x1p-30f, 0x1p-30f}};

TEST(ExactFunctions, TanhAtItsEdges) {
  for (const auto& [x, y] : kTanhEdges) EXPECT_EQ(bits_of(exact::tanh(x)), bits_of(y)) << x;
  EXPECT_TRUE(std::isnan(exact::tanh(kNaN)));
}

class VectorFunction : public VectorTest {
 protected:
  std::vector<float> run(VectorFunctions::Unary f, const std::vector<float>& x) {
    std::vector<float> y(x.size());
    f(x.data(), y.data(), x.size());
    return y;
  }
};
INSTANTIATE_TEST_SUITE_P(AllIsas, VectorFunction, ::testing::ValuesIn(all_vector_functions()),
                         isa_name);

TEST_P(VectorFunction, ExpErrsByAtMost0Point9Ulp) {
  const std::vector<float> x = exp_arguments();
  float where = 0;
  EXPECT_LE(largest_error(x, run(GetParam().exp, x), std::exp, where), 0.9)
      << std::hexfloat << where;
}

TEST_P(VectorFunction, TanhErrsByAtMost1Point5Ulp) {
  const std::vector<float> x = tanh_arguments();
  float where = 0;
  EXPECT_LE(largest_error(x, run(GetParam().tanh, x), std::tanh, where), 1.5)
      << std::hexfloat << where;
}

// The contract promises bits: the scalar program and the vectors were written apart.
TEST_P(VectorFunction, HasTheBitsOfTheScalarProgram) {
  for (const auto& [vector, scalar, x] :
       {std::tuple(GetParam().exp, &exact::exp, exp_arguments()),
        std::tuple(GetParam().tanh, &exact::tanh, tanh_arguments())}) {
    const std::vector<float> y = run(vector, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(bits_of(y[i]), bits_of(scalar(x[i]))) << std::hexfloat << x[i];
    }
  }
}

TEST_P(VectorFunction, EdgesInEveryLane) {
  for (int lane = 0; lane < GetParam().lanes; ++lane) {
    const auto at = [&](VectorFunctions::Unary f, float x) {
      std::vector<float> all(16, -1.0f);
      all[lane] = x;
      return run(f, all)[lane];
    };
    for (const auto& [x, y] : kExpEdges) EXPECT_EQ(bits_of(at(GetParam().exp, x)), bits_of(y)) << x;
    for (const auto& [x, y] : kTanhEdges) {
      EXPECT_EQ(bits_of(at(GetParam().tanh, x)), bits_of(y)) << x;
    }
    for (std::uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu, 0x7fbfffffu}) {
      EXPECT_TRUE(std::isnan(at(GetParam().exp, std::bit_cast<float>(nan)))) << std::hex << nan;
      EXPECT_TRUE(std::isnan(at(GetParam().tanh, std::bit_cast<float>(nan)))) << std::hex << nan;
    }
  }
}

// ---- double, for float64 inputs -----------------------------------------------------------------

// |got - right| in units of the last place of double.
double ulps64(double got, long double right) {
  const int exponent = std::max(std::ilogb(right), -1022);
  return static_cast<double>(std::abs(static_cast<long double>(got) - right) /
                             std::ldexp(1.0L, exponent - 52));
}

TEST(ReferenceFunctions, ExpAndTanhErrByAboutOneUlp) {
  double exp_error = 0, tanh_error = 0, below = 0;
  for (double x = -708; x < 700; x += 0.00731) {
    exp_error =
        std::max(exp_error, ulps64(reference::exp(x), std::exp(static_cast<long double>(x))));
  }
  for (double x = -745; x < -708.5; x += 0.00731) {  // subnormal results
    below = std::max(below, ulps64(reference::exp(x), std::exp(static_cast<long double>(x))));
  }
  for (double x = 1e-300; x < 1e300; x *= 1.0037) {
    tanh_error =
        std::max(tanh_error, ulps64(reference::tanh(x), std::tanh(static_cast<long double>(x))));
    ASSERT_EQ(reference::tanh(-x), -reference::tanh(x));
  }
  for (double x = 0.01; x < 25; x += 0.000173) {
    tanh_error =
        std::max(tanh_error, ulps64(reference::tanh(x), std::tanh(static_cast<long double>(x))));
  }
  EXPECT_LE(exp_error, 1.5);
  EXPECT_LE(below, 1.5);
  EXPECT_LE(tanh_error, 2.5);
}

TEST(ReferenceFunctions, ExpAndTanhAtTheirEdges) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(reference::exp(0.0), 1.0);
  EXPECT_EQ(reference::exp(-inf), 0.0);
  EXPECT_EQ(reference::exp(-746), 0.0);
  EXPECT_EQ(reference::exp(inf), inf);
  EXPECT_EQ(reference::exp(710), inf);
  EXPECT_TRUE(std::isnan(reference::exp(std::nan(""))));
  EXPECT_EQ(reference::tanh(inf), 1.0);
  EXPECT_EQ(reference::tanh(-inf), -1.0);
  EXPECT_TRUE(std::signbit(reference::tanh(-0.0)));
  EXPECT_EQ(reference::tanh(5e-324), 5e-324);
  EXPECT_TRUE(std::isnan(reference::tanh(std::nan(""))));
}

}  // namespace
}  // namespace qkv::test
