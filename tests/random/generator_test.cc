#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qkv/random.h"
#include "random/expected.h"
#include "random/fnv1a.h"

namespace qkv::random {
namespace {

using ::testing::ElementsAreArray;

constexpr std::size_t kMany = 1'000'000;

std::vector<double> uniforms(Generator generator, std::size_t count) {
  std::vector<double> numbers(count);
  generator.random(numbers);
  return numbers;
}

std::vector<double> normals(Generator generator, std::size_t count) {
  std::vector<double> numbers(count);
  generator.normal(numbers);
  return numbers;
}

TEST(Generator, GivesNumPysUniformNumbers) {
  for (const SeedCase& expected : kSeeds) {
    SCOPED_TRACE(expected.seed);
    const std::vector<double> numbers = uniforms(Generator(expected.seed), kMany);
    EXPECT_THAT(std::vector(numbers.begin(), numbers.begin() + 4),
                ElementsAreArray(expected.uniform));
    EXPECT_EQ(fnv1a(numbers), expected.uniform_hash);
  }
}

// A million normal numbers have about 260 from the tail and 12,000 from the wedges.
TEST(Generator, GivesNumPysNormalNumbers) {
  for (const SeedCase& expected : kSeeds) {
    SCOPED_TRACE(expected.seed);
    const std::vector<double> numbers = normals(Generator(expected.seed), kMany);
    EXPECT_THAT(std::vector(numbers.begin(), numbers.begin() + 4),
                ElementsAreArray(expected.normal));
    EXPECT_EQ(fnv1a(numbers), expected.normal_hash);
  }
}

TEST(Generator, GivesNumPysNumbersFromTheTail) {
  for (const TailCase& expected : kTails) {
    EXPECT_EQ(Generator(expected.seed).normal(), expected.first) << expected.seed;
  }
}

TEST(Generator, TakesAnyNumberOfEntropyWords) {
  for (const EntropyCase& expected : kEntropies) {
    EXPECT_THAT(uniforms(Generator(std::span(expected.entropy)), 4),
                ElementsAreArray(expected.uniform));
  }
}

TEST(Generator, ReadsASeedAsItsWords) {
  const std::uint32_t words[] = {5, 0x80000000};
  EXPECT_EQ(Generator((std::uint64_t{1} << 63) + 5).random(), Generator(words).random());
  const std::uint32_t zero[] = {0};
  EXPECT_EQ(Generator(0).random(), Generator(zero).random());
}

TEST(Generator, GivesNumPysIntegers) {
  for (const RangeCase& expected : kRanges) {
    SCOPED_TRACE(::testing::Message() << "[" << expected.low << ", " << expected.high << ")");
    Generator generator(42);
    std::vector<std::int64_t> first(4);
    generator.integers(first, expected.low, expected.high);
    EXPECT_THAT(first, ElementsAreArray(expected.first));
    std::vector<std::int64_t> next(1000);
    generator.integers(next, expected.low, expected.high);
    EXPECT_EQ(fnv1a(next), expected.next_hash);
  }
}

TEST(Generator, GivesNumPysPermutations) {
  for (const std::vector<std::int64_t>& expected : kPermutations) {
    const auto length = static_cast<std::int64_t>(expected.size());
    EXPECT_THAT(Generator(12345).permutation(length), ElementsAreArray(expected));
  }
  for (const SeedCase& expected : kSeeds) {
    EXPECT_EQ(fnv1a(Generator(expected.seed).permutation(1000)), expected.permutation_hash);
  }
}

// 32-bit draws come in pairs; the second one waits while 64-bit draws pass by.
TEST(Generator, MixesCallsAsNumPyDoes) {
  Generator generator(7);
  std::vector<double> reals;
  std::vector<std::int64_t> whole;
  const auto keep = [&whole](const std::vector<std::int64_t>& more) {
    whole.insert(whole.end(), more.begin(), more.end());
  };
  std::vector<std::int64_t> three_integers(3);
  std::vector<double> three_normals(3);
  std::vector<double> two_uniforms(2);

  reals.push_back(generator.random());
  whole.push_back(generator.integers(0, 10));
  reals.push_back(generator.random());
  reals.push_back(generator.normal());
  whole.push_back(generator.integers(0, 10));
  generator.integers(three_integers, -3, 4);
  keep(three_integers);
  whole.push_back(generator.integers(0, std::int64_t{1} << 40));
  keep(generator.permutation(6));
  generator.normal(three_normals, 3.0, 0.5);
  reals.insert(reals.end(), three_normals.begin(), three_normals.end());
  whole.push_back(generator.integers(0, std::int64_t{1} << 32));
  generator.random(two_uniforms);
  reals.insert(reals.end(), two_uniforms.begin(), two_uniforms.end());
  whole.push_back(generator.integers(5, 6));
  whole.push_back(generator.integers(0, 100));

  EXPECT_THAT(reals, ElementsAreArray(kMixtureReals));
  EXPECT_THAT(whole, ElementsAreArray(kMixtureIntegers));
}

TEST(Generator, DrawsTheSameOneByOneAndTogether) {
  Generator one(3);
  Generator all(3);
  std::vector<double> together(100);
  all.normal(together, -1.0, 2.0);
  for (double number : together) EXPECT_EQ(one.normal(-1.0, 2.0), number);
  all.random(together);
  for (double number : together) EXPECT_EQ(one.random(), number);
  std::vector<std::int64_t> integers(101);
  all.integers(integers, 0, 1000);
  for (std::int64_t number : integers) EXPECT_EQ(one.integers(0, 1000), number);
  EXPECT_EQ(one.integers(0, 1000), all.integers(0, 1000));
}

TEST(Generator, ContinuesFromACopy) {
  Generator generator(3);
  generator.integers(0, 10);  // leaves half of a draw behind
  Generator copy = generator;
  EXPECT_EQ(generator.integers(0, 1 << 30), copy.integers(0, 1 << 30));
  EXPECT_EQ(generator.normal(), copy.normal());
}

TEST(Generator, DefinesWhatNumPyRefuses) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  Generator generator(1);
  EXPECT_EQ(generator.integers(5, 5), 5);
  EXPECT_EQ(generator.integers(5, -5), 5);
  EXPECT_EQ(generator.integers(kMax, kMin), kMax);
  EXPECT_TRUE(generator.permutation(-1).empty());
  EXPECT_TRUE(generator.permutation(kMin).empty());
  generator.random(std::span<double>());
  generator.normal(std::span<double>());
  generator.integers(std::span<std::int64_t>(), 0, 10);
  EXPECT_EQ(generator.random(), Generator(1).random());  // none of them drew
}

}  // namespace
}  // namespace qkv::random
