// Philox against the known answers of Random123 and against expected.h, and what dropout keeps.
#include "simd/philox.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <iterator>
#include <random>

#include "kernels/exact/functions.h"
#include "simd/expected.h"
#include "simd/functions.h"

namespace qkv::test {
namespace {

using Words = std::array<std::uint32_t, 4>;

// philox4x32 10 in the file kat_vectors of Random123.
const ExpectedPhilox kKnownAnswers[] = {
    {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     0xffffffffffffffff,
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     0x299f31d0a4093822,
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

Words in_simd(const std::uint32_t counter[4], std::uint64_t key) {
  Words word;
  philox(counter, key, word.data());
  return word;
}

Words in_exact(const std::uint32_t counter[4], std::uint64_t key) {
  return exact::philox({counter[0], counter[1], counter[2], counter[3]}, key);
}

TEST(Philox, HasTheKnownAnswers) {
  for (const auto& [counter, key, word] : kKnownAnswers) {
    EXPECT_THAT(in_simd(counter, key), ::testing::ElementsAreArray(word));
    EXPECT_THAT(in_exact(counter, key), ::testing::ElementsAreArray(word));
  }
}

TEST(Philox, HasTheWordsOfPython) {
  for (const auto& [counter, key, word] : kExpectedPhilox) {
    EXPECT_THAT(in_simd(counter, key), ::testing::ElementsAreArray(word));
    EXPECT_THAT(in_exact(counter, key), ::testing::ElementsAreArray(word));
  }
}

TEST(Philox, WordMayBeCounter) {
  Words words = {1, 2, 3, 4};
  const Words apart = in_simd(words.data(), 5);
  philox(words.data(), 5, words.data());
  EXPECT_EQ(words, apart);
}

struct Threshold {
  double p;
  std::uint64_t right;
};
const Threshold kThresholds[] = {
    {0.0, 0},
    {1.0, std::uint64_t{1} << 32},
    {0.5, std::uint64_t{1} << 31},
    {0.1, 429496730},            // 429496729.6
    {0.3, 1288490189},           // 1288490188.8
    {0x1p-33, 1},                // a half is rounded up
    {0x1.fffffffffffffp-34, 0},  // a little less than a half, and 1 in double once 1/2 is added
    {0x1.8p-32, 2},
    {0x1p-40, 0},
    {5e-324, 0},
    {1 - 0x1p-33, std::uint64_t{1} << 32},
    {1 - 0x1.8p-33, 0xffffffff},
};

TEST(Dropout, ThresholdIsRoundedExactly) {
  for (const auto& [p, right] : kThresholds) {
    EXPECT_EQ(dropout_threshold(p), right) << std::hexfloat << p;
    EXPECT_EQ(exact::dropout_threshold(p), right) << std::hexfloat << p;
  }
  std::mt19937_64 random(1);
  for (int n = 0; n < 100'000; ++n) {
    const double p = std::ldexp(static_cast<double>(random() >> 11), -53 - n % 40);
    ASSERT_EQ(dropout_threshold(p), exact::dropout_threshold(p)) << std::hexfloat << p;
  }
}

// The rule in the terms of attention: which counter and which word belong to a pair.
TEST(Dropout, ScalarProgramReadsTheWordOfThePair) {
  const std::uint64_t seed = 0x0123456789abcdef;
  for (const auto& [j, position, head, stream] :
       {std::array<std::int64_t, 4>{0, 0, 0, 0},
        {1, -1, 2, 3},
        {4194307, 1000, 31, 0xffffffff},
        {std::int64_t{1} << 34, std::int64_t{-1} << 33, (std::int64_t{1} << 32) + 5, 7}}) {
    const std::uint32_t counter[4] = {
        static_cast<std::uint32_t>(j >> 2), static_cast<std::uint32_t>(position),
        static_cast<std::uint32_t>(head), static_cast<std::uint32_t>(stream)};
    const std::uint64_t word = in_simd(counter, seed)[static_cast<std::size_t>(j & 3)];
    EXPECT_TRUE(exact::dropout_keeps(seed, j, position, head, stream, word));
    EXPECT_FALSE(exact::dropout_keeps(seed, j, position, head, stream, word + 1));
  }
}

class VectorPhilox : public VectorTest {
 protected:
  // Every lane another counter.
  static constexpr std::size_t kCount = 4096;
  std::vector<std::uint32_t> random_words(std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<std::uint32_t> words(kCount);
    for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random());
    return words;
  }
};
INSTANTIATE_TEST_SUITE_P(AllIsas, VectorPhilox, ::testing::ValuesIn(all_vector_functions()),
                         isa_name);

TEST_P(VectorPhilox, HasTheWordsOfTheScalarProgram) {
  for (std::uint64_t key : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{0x299f31d0a4093822},
                            std::uint64_t{1} << 32}) {
    std::vector<std::uint32_t> counter[4], word[4];
    for (std::uint32_t c = 0; c < 4; ++c) {
      counter[c] = random_words(c + 1);
      for (std::size_t n = 0; n < std::size(kExpectedPhilox); ++n) {
        counter[c][n] = kExpectedPhilox[n].counter[c];
      }
      word[c].resize(kCount);
    }
    const std::uint32_t* const in[4] = {counter[0].data(), counter[1].data(), counter[2].data(),
                                        counter[3].data()};
    std::uint32_t* const out[4] = {word[0].data(), word[1].data(), word[2].data(), word[3].data()};
    GetParam().philox(in, key, out, kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      const Words right = exact::philox({in[0][i], in[1][i], in[2][i], in[3][i]}, key);
      for (std::size_t c = 0; c < 4; ++c) ASSERT_EQ(word[c][i], right[c]) << i << ' ' << c;
    }
  }
}

TEST_P(VectorPhilox, KeepsThePairsOfTheScalarProgram) {
  const std::vector<std::uint32_t> position = random_words(5), head = random_words(6);
  std::vector<float> kept(4 * kCount);
  std::uint32_t group = 0;
  for (std::uint64_t threshold :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x7fffffff}, std::uint64_t{0x80000000},
        std::uint64_t{0x80000001}, std::uint64_t{429496730}, std::uint64_t{0xffffffff},
        std::uint64_t{1} << 32}) {
    group += 0x13579bdf;
    const std::uint64_t seed = 0xfedcba9876543210 * (threshold | 1);
    const std::uint32_t stream = ~group;
    GetParam().dropout_keeps(position.data(), head.data(), stream, seed, group, threshold,
                             kept.data(), kCount);
    std::size_t count = 0;
    for (std::size_t i = 0; i < 4 * kCount; ++i) {
      const bool right =
          exact::dropout_keeps(seed, std::int64_t{group} * 4 + static_cast<std::int64_t>(i % 4),
                               std::int64_t{position[i / 4]}, std::int64_t{head[i / 4]},
                               std::int64_t{stream}, threshold);
      ASSERT_EQ(kept[i], right ? 1.0f : 0.0f) << i << " of threshold " << threshold;
      count += right ? 1 : 0;
    }
    // Five standard deviations; none and all are exact.
    const double p = static_cast<double>(threshold) * 0x1p-32, pairs = 4.0 * kCount;
    EXPECT_LE(std::abs(static_cast<double>(count) - pairs * (1 - p)),
              5 * std::sqrt(pairs * p * (1 - p)) + 1e-3);
  }
}

// A threshold equal to a word keeps it; the next one drops it.
TEST_P(VectorPhilox, ComparesEveryBit) {
  std::vector<std::uint32_t> position(16), head(16, 3);
  for (std::uint32_t i = 0; i < 16; ++i) position[i] = i * 0x10000001;
  for (std::size_t i = 0; i < 16; ++i) {
    const Words right = exact::philox({9, position[i], 3, 8}, 7);
    for (std::size_t c = 0; c < 4; ++c) {
      std::vector<float> kept(64);
      GetParam().dropout_keeps(position.data(), head.data(), 8, 7, 9, right[c], kept.data(), 16);
      EXPECT_EQ(kept[4 * i + c], 1.0f);
      GetParam().dropout_keeps(position.data(), head.data(), 8, 7, 9, std::uint64_t{right[c]} + 1,
                               kept.data(), 16);
      EXPECT_EQ(kept[4 * i + c], 0.0f);
    }
  }
}

}  // namespace
}  // namespace qkv::test
