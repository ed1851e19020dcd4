// Functions of all 2^32 numbers: the error of the fastest vectors, which have the bits of the
// scalar program everywhere. Minutes each; prints the largest error for docs/arithmetic.md.
#include <bit>
#include <cmath>
#include <cstdio>
#include <vector>

#include "simd/errors.h"
#include "simd/layer_functions.h"

namespace qkv::test {
namespace {

VectorFunctions fastest() {
  VectorFunctions found = all_vector_functions().front();
  for (const VectorFunctions& functions : all_vector_functions()) {
    for (Isa usable : usable_isas()) {
      if (functions.isa == usable) found = functions;
    }
  }
  return found;
}

class EveryFloat : public ::testing::TestWithParam<LayerFunction> {};
INSTANTIATE_TEST_SUITE_P(Functions, EveryFloat, ::testing::ValuesIn(kLayerFunctions),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(EveryFloat, ErrsByNoMoreThanIsSaid) {
  const VectorFunctions::Unary vector = fastest().*GetParam().vector;
  constexpr std::uint32_t kChunk = 1 << 12;
  std::vector<float> x(kChunk), y(kChunk);
  double largest = 0;
  float where = 0;
  for (std::uint64_t begin = 0; begin < std::uint64_t{1} << 32; begin += kChunk) {
    for (std::uint32_t i = 0; i < kChunk; ++i) {
      x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(begin) + i);
    }
    vector(x.data(), y.data(), kChunk);
    for (std::uint32_t i = 0; i < kChunk; ++i) {
      const float scalar = GetParam().scalar(x[i]);
      const double right = GetParam().right(double{x[i]});
      if (std::isnan(right)) {
        ASSERT_TRUE(std::isnan(y[i]) && std::isnan(scalar)) << std::hexfloat << x[i];
        continue;
      }
      ASSERT_EQ(bits_of(y[i]), bits_of(scalar)) << std::hexfloat << x[i];
      // Most results are right to the last bit, and need no division to see that.
      if (y[i] == static_cast<float>(right) && largest >= 0.5) continue;
      const double error = ulps(y[i], right);
      ASSERT_FALSE(std::isnan(error)) << std::hexfloat << x[i];
      if (error > largest) {
        largest = error;
        where = x[i];
      }
    }
  }
  std::printf("%s errs by at most %.4f ulp, at %a\n", GetParam().name, largest, double{where});
  EXPECT_LE(largest, GetParam().ulps) << std::hexfloat << where;
}

}  // namespace
}  // namespace qkv::test
