// States over pieces of the keys: what they hold, how they merge, what they refuse. That every
// split gives the bits of one call is the bit suite's.
#include "qkv/state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "qkv/random.h"

namespace qkv {
namespace {

constexpr std::int64_t kHeads = 4, kKeyHeads = 2, kQueries = 7, kKeys = 3100, kSize = 16;

class StateTest : public testing::Test {
 protected:
  StateTest() {
    random::Generator rng(3);
    for (auto* x : {&query_, &key_, &value_}) {
      const std::int64_t rows = x == &query_ ? kHeads * kQueries : kKeyHeads * kKeys;
      for (std::int64_t n = 0; n < rows * kSize; ++n) {
        x->push_back(static_cast<float>(rng.normal()));
      }
    }
  }

  AttentionInputs piece(std::int64_t begin, std::int64_t end) const {
    const TensorView key(key_.data(), {1, kKeyHeads, kKeys, kSize});
    const TensorView value(value_.data(), {1, kKeyHeads, kKeys, kSize});
    return {{query_.data(), {1, kHeads, kQueries, kSize}},
            key.slice(2, begin, end),
            value.slice(2, begin, end)};
  }

  std::vector<float> one_call(const AttentionOptions& options) const {
    std::vector<float> out(query_.size());
    AttentionOutputs outputs;
    outputs.out = {out.data(), {1, kHeads, kQueries, kSize}};
    attention(piece(0, kKeys), outputs, options);
    return out;
  }

  std::vector<float> finished(const State& state, std::span<const float> sinks = {}) const {
    std::vector<float> out(query_.size());
    AttentionOutputs outputs;
    outputs.out = {out.data(), {1, kHeads, kQueries, kSize}};
    state.finish(outputs, sinks);
    return out;
  }

  std::vector<float> query_, key_, value_;
};

TEST_F(StateTest, PiecesOfACausalCallMergeToItsBits) {
  AttentionOptions options;
  options.causal = true;
  options.query_offset = {kKeys - kQueries};
  const std::vector<float> want = one_call(options);
  State a = State::of(piece(0, 1024), 0, options);
  State b = State::of(piece(1024, 3072), 1024, options);
  const State c = State::of(piece(3072, kKeys), 3072, options);
  b.merge(c);  // the right half first
  EXPECT_EQ(b.first_key(), 1024);
  EXPECT_EQ(b.end_key(), kKeys);
  a.merge(b);
  EXPECT_EQ(finished(a), want);

  State back = State::of(piece(3072, kKeys), 3072, options);  // and from the other side
  back.merge(State::of(piece(1024, 3072), 1024, options));
  back.merge(State::of(piece(0, 1024), 0, options));
  EXPECT_EQ(finished(back), want);
}

TEST_F(StateTest, ASinkJoinsAtTheEnd) {
  AttentionOptions options;
  options.sinks = {0.5f, -1.0f, 3.0f, -std::numeric_limits<float>::infinity()};
  const std::vector<float> want = one_call(options);
  State state = State::of(piece(0, 2048), 0);
  state.merge(State::of(piece(2048, kKeys), 2048));
  EXPECT_EQ(finished(state, options.sinks), want);
}

TEST_F(StateTest, TravelsAsBytes) {
  State state = State::of(piece(0, 2048), 0);
  const std::vector<std::byte> bytes = state.serialize();
  State copy = State::deserialize(bytes);
  EXPECT_EQ(copy.serialize(), bytes);
  const State rest = State::of(piece(2048, kKeys), 2048);
  state.merge(rest);
  copy.merge(rest);
  EXPECT_EQ(finished(copy), finished(state));
}

TEST_F(StateTest, LseIsThatOfTheWholeRange) {
  State state = State::of(piece(0, 1024), 0);
  std::vector<float> lse(kHeads * kQueries);
  AttentionOutputs outputs;
  outputs.lse = {lse.data(), {1, kHeads, kQueries}};
  state.finish(outputs);
  // By hand, in double, for row 0 of head 3 (key head 1).
  double sum = 0;
  for (std::int64_t j = 0; j < 1024; ++j) {
    double s = 0;
    for (std::int64_t c = 0; c < kSize; ++c) {
      s += double{query_[static_cast<std::size_t>(3 * kQueries * kSize + c)]} *
           double{key_[static_cast<std::size_t>((kKeys + j) * kSize + c)]};
    }
    sum += std::exp(s / 4);
  }
  EXPECT_NEAR(lse[3 * kQueries], std::log(sum), 1e-6 * std::log(sum));
}

TEST_F(StateTest, ReportsProgressAndStopsForAThrowingCallback) {
  std::vector<double> shares;
  ExecutionOptions execution;
  execution.progress = [&](double share) { shares.push_back(share); };
  State::of(piece(0, kKeys), 0, {}, execution);
  ASSERT_FALSE(shares.empty());
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1.0);
  execution.progress = [](double) { throw 5; };
  EXPECT_THROW(State::of(piece(0, kKeys), 0, {}, execution), int);
  std::atomic<bool> cancel{true};
  execution = {};
  execution.cancel = &cancel;
  EXPECT_THROW(State::of(piece(0, kKeys), 0, {}, execution), Cancelled);
}

TEST_F(StateTest, NoKeysGiveZeroAndMinusInfinity) {
  const State state = State::of(piece(0, 0), 0);
  std::vector<float> out(query_.size(), 7.0f), lse(kHeads * kQueries, 7.0f);
  AttentionOutputs outputs;
  outputs.out = {out.data(), {1, kHeads, kQueries, kSize}};
  outputs.lse = {lse.data(), {1, kHeads, kQueries}};
  state.finish(outputs);
  for (float x : out) EXPECT_EQ(x, 0.0f);
  for (float x : lse) EXPECT_EQ(x, -std::numeric_limits<float>::infinity());
}

template <class Exception, class F>
void expect_refused(F f, const std::string& message) {
  try {
    f();
    ADD_FAILURE() << "accepted; expected: " << message;
  } catch (const Exception& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST_F(StateTest, RefusesWhatHasNoMeaning) {
  expect_refused<InvalidArgument>([&] { State::of(piece(0, 1024), 1000); },
                                  "first_key: 1000 is not on a span edge; pass a multiple of 1024");
  expect_refused<InvalidArgument>(
      [&] { State::of(piece(0, 1024), -1024); },
      "first_key: -1024 is not on a span edge; pass a multiple of 1024");
  expect_refused<InvalidArgument>(
      [&] { State::of(piece(0, 1024), std::numeric_limits<std::int64_t>::max() - 1023); },
      "first_key: 9223372036854774784 is out of range; pass at most 2^61");
  AttentionOptions options;
  options.sinks = {0, 0, 0, 0};
  expect_refused<InvalidArgument>([&] { State::of(piece(0, 1024), 0, options); },
                                  "sinks: they join once, at the end; pass them to finish()");
  options = {};
  options.query_lengths = {3};
  expect_refused<Unsupported>([&] { State::of(piece(0, 1024), 0, options); },
                              "query_cu_seqlens, query_lengths: a state has one length of queries; "
                              "make a state for each sequence");
  options = {};
  options.causal = true;
  expect_refused<InvalidArgument>(
      [&] { State::of(piece(1024, 2048), 1024, options); },
      "query_offset: absent for a piece of the keys; positions need it, "
      "since the piece does not tell how many keys there are in all");

  State state = State::of(piece(0, 1024), 0);
  expect_refused<InvalidArgument>([&] { state.merge(State::of(piece(2048, 3072), 2048)); },
                                  "other: its keys 2048 to 3072 do not lie right beside this "
                                  "state's 0 to 1024; merge neighbours that meet on a span edge");
  AttentionInputs one_head = piece(1024, 2048);
  one_head.query = one_head.query.slice(1, 0, 2);
  expect_refused<InvalidArgument>([&] { state.merge(State::of(one_head, 1024)); },
                                  "other: its rows [1, 2, 7, 16] are not those of this state, "
                                  "[1, 4, 7, 16]; merge states of the same queries");

  std::vector<float> out(query_.size());
  AttentionOutputs outputs;
  outputs.out = {out.data(), {kHeads, kQueries, kSize}};
  expect_refused<InvalidArgument>([&] { state.finish(outputs); },
                                  "out: shape [4, 7, 16] does not fit the state's rows; it must be "
                                  "[1, 4, 7, 16]");
  outputs.out = {out.data(), {1, kHeads, kQueries, kSize}};
  const float sinks[] = {1.0f};
  expect_refused<InvalidArgument>([&] { state.finish(outputs, sinks); },
                                  "sinks: 1 logits for 4 query heads; pass one a head");

  std::vector<std::byte> bytes = state.serialize();
  const std::string malformed =
      "bytes: this is no serialized state; pass what serialize() returned";
  expect_refused<InvalidArgument>(
      [&] { State::deserialize(std::span(bytes).first(bytes.size() - 1)); }, malformed);
  for (std::size_t n = 0; n < 16 + 9 * 8; ++n) {  // no damage to the header gets through as a crash
    std::vector<std::byte> damaged = bytes;
    damaged[n] ^= std::byte{0xff};
    try {
      State::deserialize(damaged);
    } catch (const InvalidArgument&) {
    }
  }
  // Headers that contradict themselves or overflow. Numbers follow the 8 letters: version, rank,
  // batch, heads, queries, d_v, first key, end key, nodes; then a node's first and end span, and m
  // and l of its first row.
  const auto with = [&](std::size_t number, std::int64_t value, std::size_t size = 8) {
    std::vector<std::byte> damaged = bytes;
    std::memcpy(damaged.data() + 8 + 8 * number, &value, size);
    return damaged;
  };
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMinusOne = 0xbf800000;  // as a float
  std::vector<std::byte> negative_sum = bytes;
  std::memcpy(negative_sum.data() + 8 + 8 * 11 + 4, &kMinusOne, 4);
  for (const auto& damaged : {with(1, (std::int64_t{1} << 32) + 4), with(1, 2), with(1, 1),
                              with(6, kMost), with(7, kMost), with(7, kLeast), with(8, 0),
                              with(9, kLeast), with(10, kLeast), with(10, kMost), negative_sum}) {
    expect_refused<InvalidArgument>([&] { State::deserialize(damaged); }, malformed);
  }
}

}  // namespace
}  // namespace qkv
