// T5's bias by relative position: its buckets against the paper's program (expected_buckets.h), the
// bias as a view and in attention, its gradient, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "positions/expected_buckets.h"
#include "qkv/attention.h"
#include "qkv/gradient.h"
#include "qkv/positions.h"
#include "qkv/random.h"
#include "support/caller_environment.h"

namespace qkv::test {
namespace {

using Floats = std::vector<float>;
constexpr RelativeBuckets kDecoder = {.bidirectional = false};

Floats normal_numbers(std::int64_t count, std::uint64_t seed) {
  random::Generator rng(seed);
  Floats all(static_cast<std::size_t>(count));
  for (float& x : all) x = static_cast<float>(rng.normal());
  return all;
}

TEST(RelativePositions, BucketsAreThoseOfThePapersProgram) {
  for (const ExpectedBuckets& expected : kExpectedBuckets) {
    const RelativeBuckets buckets = {expected.bidirectional, expected.buckets,
                                     expected.max_distance};
    for (std::size_t run = 0; run < expected.runs.size(); ++run) {
      const bool last = run + 1 == expected.runs.size();
      const std::int64_t end = last ? 5001 : expected.runs[run + 1].first;
      for (std::int64_t x = expected.runs[run].first; x < end; ++x) {
        ASSERT_EQ(relative_position_bucket(x, buckets), expected.runs[run].bucket)
            << x << ": " << expected.bidirectional << " " << expected.buckets << " "
            << expected.max_distance;
      }
    }
  }
}

TEST(RelativePositions, BoundariesByHand) {
  // 8 distances by themselves, then 8 16^(k / 8): 8, 11.3, 16, 22.6, 32, 45.3, 64, 90.5.
  const std::int64_t begins[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
  for (std::int64_t bucket = 0; bucket < 16; ++bucket) {
    const std::int64_t first = begins[bucket];
    EXPECT_EQ(relative_position_bucket(-first), bucket);
    if (first > 0) {
      EXPECT_EQ(relative_position_bucket(1 - first), bucket - 1);
      EXPECT_EQ(relative_position_bucket(first), bucket + 16);
    }
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(relative_position_bucket(kMost), 31);
  EXPECT_EQ(relative_position_bucket(-kMost - 1), 15);
  EXPECT_EQ(relative_position_bucket(kMost, kDecoder), 0);
  EXPECT_EQ(relative_position_bucket(-kMost - 1, kDecoder), 31);
  EXPECT_EQ(relative_position_bucket(-kMost - 1, {false, 1 << 24, std::int64_t{1} << 53}),
            (1 << 24) - 1);
}

float at(const TensorView& bias, std::int64_t h, std::int64_t i, std::int64_t j) {
  return static_cast<const float*>(
      bias.data)[h * bias.strides[0] + i * bias.strides[1] + j * bias.strides[2]];
}

TEST(RelativePositions, TheBiasIsTheTableByDistanceInLittleMemory) {
  const Floats table = normal_numbers(3 * 32, 1);
  Floats turned(table.size());  // [heads, buckets]
  for (std::size_t n = 0; n < table.size(); ++n) turned[n % 3 * 32 + n / 3] = table[n];
  const TensorView by_bucket(table.data(), {32, 3});
  const TensorView by_head = TensorView(turned.data(), {3, 32}).transposed(0, 1);
  struct Case {
    std::int64_t queries, keys;
    std::optional<std::int64_t> offset;
  };
  for (const Case& c : {Case{5, 5, {}}, Case{1, 200, {}}, Case{7, 300, 40}, Case{200, 3, -5}}) {
    for (const RelativeBuckets& buckets : {RelativeBuckets(), kDecoder}) {
      const Tensor bias = relative_bias(by_bucket, c.queries, c.keys, buckets, c.offset);
      const Tensor same = relative_bias(by_head, c.queries, c.keys, buckets, c.offset);
      ASSERT_EQ(describe(bias),
                "float32 [3, " + std::to_string(c.queries) + ", " + std::to_string(c.keys) + "]");
      EXPECT_EQ(bias.view().strides[0], c.queries + c.keys - 1);
      for (std::int64_t h = 0; h < 3; ++h) {
        for (std::int64_t i = 0; i < c.queries; ++i) {
          for (std::int64_t j = 0; j < c.keys; ++j) {
            const std::int64_t p = i + c.offset.value_or(c.keys - c.queries);
            const auto bucket = static_cast<std::size_t>(relative_position_bucket(j - p, buckets));
            ASSERT_EQ(at(bias, h, i, j), table[bucket * 3 + static_cast<std::size_t>(h)]);
            ASSERT_EQ(at(same, h, i, j), at(bias, h, i, j));
          }
        }
      }
    }
  }
  EXPECT_EQ(describe(relative_bias(by_bucket, 0, 4)), "float32 [3, 0, 4]");
  EXPECT_EQ(describe(relative_bias(by_bucket, 4, 0)), "float32 [3, 4, 0]");
}

// The strided bias and a full copy of it give the same bits; a row alone those of all rows.
TEST(RelativePositions, AttentionReadsTheBias) {
  constexpr std::int64_t kHeads = 4, kQueries = 70, kKeys = 150, kD = 8;
  const Floats table = normal_numbers(32 * kHeads, 2),
               q = normal_numbers(kHeads * kQueries * kD, 3),
               k = normal_numbers(kHeads * kKeys * kD, 4),
               v = normal_numbers(kHeads * kKeys * kD, 5);
  const AttentionInputs inputs = {{q.data(), {1, kHeads, kQueries, kD}},
                                  {k.data(), {1, kHeads, kKeys, kD}},
                                  {v.data(), {1, kHeads, kKeys, kD}}};
  const Tensor bias = relative_bias({table.data(), {32, kHeads}}, kQueries, kKeys);
  Floats full;
  for (std::int64_t h = 0; h < kHeads; ++h) {
    for (std::int64_t i = 0; i < kQueries; ++i) {
      for (std::int64_t j = 0; j < kKeys; ++j) full.push_back(at(bias, h, i, j));
    }
  }
  AttentionOptions strided, copied, row;
  strided.scale = copied.scale = row.scale = 1;
  strided.bias = bias;
  copied.bias = {full.data(), {kHeads, kQueries, kKeys}};
  const Tensor a = attention(inputs, strided), b = attention(inputs, copied);
  EXPECT_EQ(std::memcmp(a.data<float>(), b.data<float>(), q.size() * 4), 0);

  const Tensor last = relative_bias({table.data(), {32, kHeads}}, 1, kKeys);  // decoding
  row.bias = last;
  AttentionInputs one = inputs;
  one.query = one.query.slice(2, kQueries - 1, kQueries);
  const Tensor of_row = attention(one, row);
  for (std::int64_t h = 0; h < kHeads; ++h) {
    EXPECT_EQ(std::memcmp(of_row.data<float>() + h * kD,
                          a.data<float>() + (h * kQueries + kQueries - 1) * kD, kD * 4),
              0);
  }
}

TEST(RelativePositions, TheGradientSumsWhatABucketGave) {
  for (const auto& [queries, keys] : {std::pair(1, 1), std::pair(40, 37), std::pair(3, 400)}) {
    for (const RelativeBuckets& buckets : {RelativeBuckets(), kDecoder}) {
      const std::int64_t size = std::int64_t{2} * queries * keys;
      const Floats d = normal_numbers(size, 6);
      const TensorView d_bias(d.data(), {2, queries, keys});
      const Tensor d_table = relative_bias_gradient(d_bias, buckets, 5);
      ASSERT_EQ(describe(d_table), "float32 [32, 2]");
      std::vector<double> want(64);
      for (std::int64_t h = 0; h < 2; ++h) {
        for (std::int64_t i = 0; i < queries; ++i) {
          for (std::int64_t j = 0; j < keys; ++j) {
            const std::int64_t bucket = relative_position_bucket(j - i - 5, buckets);
            want[static_cast<std::size_t>(bucket * 2 + h)] += double{at(d_bias, h, i, j)};
          }
        }
      }
      for (std::size_t n = 0; n < 64; ++n) {
        EXPECT_NEAR(d_table.data<float>()[n], want[n], 6e-8 * std::abs(want[n]) + 1e-12) << n;
      }
      // Any strides.
      Floats turned(d.size());
      for (std::int64_t h = 0; h < 2; ++h) {
        for (std::int64_t i = 0; i < queries; ++i) {
          for (std::int64_t j = 0; j < keys; ++j) {
            turned[static_cast<std::size_t>((h * keys + j) * queries + i)] = at(d_bias, h, i, j);
          }
        }
      }
      const Tensor same = relative_bias_gradient(
          TensorView(turned.data(), {2, keys, queries}).transposed(1, 2), buckets, 5);
      EXPECT_EQ(std::memcmp(same.data<float>(), d_table.data<float>(), 64 * 4), 0);
    }
  }
  const Tensor none = relative_bias_gradient({static_cast<float*>(nullptr), {2, 0, 4}});
  EXPECT_EQ(none.data<float>()[0], 0);
}

TEST(RelativePositions, NeitherDependOnTheCallersModeNorChangeIt) {
  const Floats table = normal_numbers(64, 7), d = normal_numbers(2 * 9 * 300, 8);
  const TensorView d_bias(d.data(), {2, 9, 300});
  const Tensor bias = relative_bias({table.data(), {32, 2}}, 9, 300);
  const Tensor d_table = relative_bias_gradient(d_bias);
  for (CallerMode mode : kCallerModes) {
    const CallerEnvironment environment(mode);
    const Tensor again = relative_bias({table.data(), {32, 2}}, 9, 300);
    const Tensor d_again = relative_bias_gradient(d_bias);
    const std::int64_t bucket = relative_position_bucket(-64);
    EXPECT_TRUE(environment.unchanged()) << name_of(mode);
    EXPECT_EQ(std::memcmp(again.data<float>() - 8, bias.data<float>() - 8, 2 * 308 * 4), 0);
    EXPECT_EQ(std::memcmp(d_again.data<float>(), d_table.data<float>(), 64 * 4), 0);
    EXPECT_EQ(bucket, 14);
  }
}

template <class F>
void expect_refused(F f, const std::string& part) {
  try {
    f();
    ADD_FAILURE() << "not refused: " << part;
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

TEST(RelativePositions, RefuseWhatHasNoMeaning) {
  const std::pair<RelativeBuckets, const char*> bad[] = {
      {{true, 31, 128}, "buckets: 31 can't be shared out; pass an even number from 4 to 2^24"},
      {{true, 2, 128}, "buckets: 2 can't"},
      {{false, 1, 128}, "buckets: 1 can't be shared out; pass a number from 2 to 2^24"},
      {{false, -4, 128}, "buckets: -4"},
      {{false, (1 << 24) + 1, 1 << 30}, "buckets: 16777217"},
      {{true, 32, 8}, "max_distance: 8 with 32 buckets, 8 of them for the nearest distances"},
      {{false, 32, 16}, "max_distance: 16"},
      {{false, 32, (std::int64_t{1} << 53) + 1}, "max_distance: 9007199254740993"},
  };
  const Floats numbers(128);
  const TensorView table(numbers.data(), {32, 4}), d_bias(numbers.data(), {2, 4, 4});
  for (const auto& [buckets, part] : bad) {
    expect_refused([&, b = buckets] { relative_position_bucket(0, b); }, part);
    expect_refused([&, b = buckets] { relative_bias(table, 2, 2, b); }, part);
    expect_refused([&, b = buckets] { relative_bias_gradient(d_bias, b); }, part);
  }
  expect_refused([&] { relative_bias({}, 2, 2); }, "table: absent");
  expect_refused([&] { relative_bias({numbers.data(), {4, 32}}, 2, 2); },
                 "table: float32 [4, 32] does not fit 32 buckets; it must be float32 [32, heads]");
  expect_refused([&] { relative_bias(table, -1, 2); }, "queries: -1");
  expect_refused([&] { relative_bias(table, 2, -1); }, "keys: -1");
  expect_refused([&] { relative_bias(table, 1, 1, {}, (std::int64_t{1} << 61) + 1); },
                 "query_offset: 2305843009213693953");
  expect_refused([&] { relative_bias_gradient({}); }, "d_bias: absent");
  expect_refused([&] { relative_bias_gradient({numbers.data(), {8, 16}}); },
                 "d_bias: float32 [8, 16] is no gradient of a bias");
}

}  // namespace
}  // namespace qkv::test
