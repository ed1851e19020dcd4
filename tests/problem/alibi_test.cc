// The slopes of ALiBi, which other libraries had wrong where the number of heads is no power of two
// (ml-explore/mlx #343, PR #3071; huggingface/transformers PR #28380).
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "qkv/options.h"

namespace qkv {
namespace {

using Slopes = std::vector<float>;

TEST(AlibiSlopes, PowersOfTwo) {
  EXPECT_EQ(alibi_slopes(1), (Slopes{0x1p-8f}));
  EXPECT_EQ(alibi_slopes(2), (Slopes{0x1p-4f, 0x1p-8f}));
  EXPECT_EQ(alibi_slopes(4), (Slopes{0x1p-2f, 0x1p-4f, 0x1p-6f, 0x1p-8f}));
  EXPECT_EQ(alibi_slopes(8),
            (Slopes{0x1p-1f, 0x1p-2f, 0x1p-3f, 0x1p-4f, 0x1p-5f, 0x1p-6f, 0x1p-7f, 0x1p-8f}));
}

TEST(AlibiSlopes, OtherNumbersOfHeads) {
  EXPECT_EQ(alibi_slopes(3), (Slopes{.0625f, .00390625f, .25f}));
  EXPECT_EQ(alibi_slopes(6), (Slopes{.25f, .0625f, .015625f, .00390625f, .5f, .125f}));
  const Slopes twelve = alibi_slopes(12);
  ASSERT_EQ(twelve.size(), 12u);
  EXPECT_EQ(Slopes(twelve.begin(), twelve.begin() + 8), alibi_slopes(8));
  const double rest[] = {.70710678, .35355339, .17677670, .08838835};
  for (std::size_t h = 0; h < 4; ++h) EXPECT_NEAR(twelve[8 + h], rest[h], 3e-8);
}

// 2^(-8 h / n) rounded once, for every number of heads: std::exp2 in double is far more precise
// than float32, and no slope lies near a midpoint.
TEST(AlibiSlopes, AreTheFormulasNearestFloats) {
  for (std::int64_t heads = 1; heads <= 300; ++heads) {
    const Slopes slopes = alibi_slopes(heads);
    ASSERT_EQ(static_cast<std::int64_t>(slopes.size()), heads);
    std::int64_t below = 1;
    while (below * 2 <= heads) below *= 2;
    for (std::int64_t i = 0; i < heads; ++i) {
      const double exponent =
          i < below
              ? -8.0 * static_cast<double>(i + 1) / static_cast<double>(below)
              : -8.0 * static_cast<double>(2 * (i - below) + 1) / static_cast<double>(2 * below);
      EXPECT_EQ(slopes[static_cast<std::size_t>(i)], static_cast<float>(std::exp2(exponent)))
          << heads << " heads, head " << i;
    }
  }
}

TEST(AlibiSlopes, NoHeadsNoSlopes) {
  EXPECT_TRUE(alibi_slopes(0).empty());
  EXPECT_TRUE(alibi_slopes(-5).empty());
}

}  // namespace
}  // namespace qkv
