// Layers of positions: what they add, what they refuse, and that they learn.
#include "qkv/positions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "qkv/nn.h"

namespace qkv::nn::test {
namespace {

using Ids = std::vector<std::int64_t>;

std::vector<float> numbers(const TensorView& view) {
  const auto* first = static_cast<const float*>(view.data);
  return {first, first + view.size()};
}

class Positions : public ::testing::Test {
 protected:
  Parameters parameters_;
  random::Generator rng_{0};
  LearnedPositions learned_{parameters_, "position", 4, 2, rng_};
  const std::vector<float> table_ = numbers(parameters_.find("position.weight")->value);
  const std::vector<float> x_ = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120};
  Tape tape_;

  void expect_rows(Var sum, const Ids& rows) {
    ASSERT_TRUE(tape_.status().ok()) << tape_.status().message();
    const std::vector<float> got = numbers(tape_.value(sum));
    ASSERT_EQ(got.size(), 2 * rows.size());
    for (std::size_t n = 0; n < got.size(); ++n) {
      const auto row = static_cast<std::size_t>(rows[n / 2]);
      EXPECT_EQ(got[n], x_[n] + table_[row * 2 + n % 2]) << n;
    }
  }
};

TEST_F(Positions, AddTheirRows) {
  const Var batch = tape_.constant({x_.data(), {2, 3, 2}});
  expect_rows(learned_(tape_, batch), {0, 1, 2, 0, 1, 2});
  expect_rows(learned_(tape_, batch, 1), {1, 2, 3, 1, 2, 3});
  expect_rows(learned_(tape_, batch, Ids{3, 0, 3}), {3, 0, 3, 3, 0, 3});
  expect_rows(learned_(tape_, batch, Ids{3, 0, 3, 1, 1, 2}), {3, 0, 3, 1, 1, 2});
  expect_rows(learned_(tape_, tape_.constant({x_.data(), {4, 2}})), {0, 1, 2, 3});
  EXPECT_FALSE(parameters_.find("position.weight")->decays);
}

// A position beyond the table is neither read nor skipped.
TEST_F(Positions, BeyondTheTableIsAnError) {
  const Ids beyond = {0, 4, 1}, before = {0, 1, -1}, far = {0, std::int64_t{1} << 31, 0},
            two = {0, 1};
  const auto message = [&](auto f) {
    tape_.clear();
    f(tape_.constant({x_.data(), {2, 3, 2}}));
    return tape_.status().message();
  };
  EXPECT_EQ(message([&](Var x) { learned_(tape_, x, 2); }),
            "position.weight: 3 tokens from position 2 on for 4 learned positions; use shorter "
            "sequences, or learn more");
  EXPECT_EQ(message([&](Var x) { learned_(tape_, x, -1); }),
            "position.weight: 3 tokens from position -1 on for 4 learned positions; use shorter "
            "sequences, or learn more");
  EXPECT_EQ(message([&](Var x) { learned_(tape_, x, beyond); }),
            "position.weight: position 4 is not among the 4 learned ones; count from 0");
  EXPECT_EQ(message([&](Var x) { learned_(tape_, x, before); }),
            "position.weight: position -1 is not among the 4 learned ones; count from 0");
  EXPECT_EQ(message([&](Var x) { learned_(tape_, x, far); }),
            "position.weight: position 2147483648 is not among the 4 learned ones; count from 0");
  EXPECT_EQ(
      message([&](Var x) { learned_(tape_, x, two); }),
      "position.weight: tokens [2, 3, 2] and 2 positions of 2 numbers don't fit; pass [batch, "
      "tokens, d] or [tokens, d], and one position a token");
  EXPECT_EQ(message([&](Var) { learned_(tape_, tape_.constant({x_.data(), {3, 4}})); }),
            "position.weight: tokens [3, 4] and 3 positions of 2 numbers don't fit; pass [batch, "
            "tokens, d] or [tokens, d], and one position a token");
}

// The answer is the token a given number of places before the last one: attention must know where
// tokens are. Without positions chance is all it has.
float loss_after_training(const std::string& kind) {
  constexpr std::int64_t kBatch = 32, kLength = 6, kD = 16, kClasses = 4;
  Parameters parameters;
  random::Generator rng(1);
  const HeadSizes sizes{.d = kD, .heads = 2, .key_heads = 2, .d_head = 8};
  Embedding embed(parameters, "embed", kClasses, kD, rng, 0.5);
  LearnedPositions learned(parameters, "position", kLength, kD, rng, 0.5);
  RelativeBias relative(parameters, "relative", 2, rng, {false, 8, 6});
  Block block(parameters, "block", sizes, 32, rng);
  Linear head(parameters, "head", kD, kClasses, rng);
  const Tensor sinusoidal = sinusoidal_positions(0, kLength, kD);
  const Ids places = {0, 1, 2, 3, 4, 5};
  const RotaryTables rotary =
      rotary_tables({places.data(), {kLength}}, rotary_frequencies(8, {.base = 100}));
  AdamW optimizer(parameters);
  Tape tape;
  float loss = 0;
  for (int step = 0; step < 150; ++step) {
    tape.clear();
    Ids inputs, targets;
    for (std::int64_t b = 0; b < kBatch; ++b) {
      for (std::int64_t n = 0; n < kLength; ++n) inputs.push_back(rng.integers(0, kClasses));
      targets.insert(targets.end(), kLength, -1);
      targets.back() = inputs[inputs.size() - 3];
    }
    const std::int64_t shape[] = {kBatch, kLength}, rows[] = {kBatch * kLength, kD};
    Var x = embed(tape, inputs, shape);
    MultiHeadAttention::Extras extras;
    extras.options.causal = true;
    if (kind == "learned") x = learned(tape, x);
    if (kind == "sinusoidal") x = tape.add(x, tape.constant(sinusoidal));
    if (kind == "relative") extras.bias = relative(tape, kLength, kLength);
    if (kind == "rotary") {
      extras.rotate = [&](Tape& t, Var heads) {
        return t.rotate(heads, rotary.cosines, rotary.sines, RotaryLayout::kHalves);
      };
    }
    x = block(tape, x, extras);
    const Var l = tape.cross_entropy(head(tape, tape.reshape(x, rows)), targets);
    parameters.clear_gradients();
    tape.backward(l);
    clip_gradients(parameters, 1);
    optimizer.step(1e-2f);
    loss = *static_cast<const float*>(tape.value(l).data);
  }
  return loss;
}

TEST(Layers, PositionsLetAttentionLearnAPlace) {
  EXPECT_GT(loss_after_training("none"), 0.8f);
  for (const char* kind : {"learned", "sinusoidal", "relative", "rotary"}) {
    EXPECT_LT(loss_after_training(kind), 0.1f) << kind;
  }
}

}  // namespace
}  // namespace qkv::nn::test
