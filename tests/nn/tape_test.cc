// Every operation of the tape: its gradient against finite differences of its value, and the same
// bits on any instruction set and number of threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "qkv/nn.h"

namespace qkv::nn::test {
namespace {

using Shape = std::vector<std::int64_t>;

// What a case computes: a value from parameters of given shapes.
struct Case {
  const char* name;
  std::vector<Shape> shapes;
  std::function<Var(Tape&, const std::vector<Var>&)> run;
};

AttentionOptions causal() {
  AttentionOptions options;
  options.causal = true;
  return options;
}

std::vector<Case> cases() {
  const static std::int64_t kIds[] = {2, 0, 2, 4, 1, 2};
  const static std::int64_t kTwoByThree[] = {2, 3};
  const static float kCosines[] = {0.6f, 1.0f, -0.8f, 0.0f, 0.28f, 0.96f};
  const static float kSines[] = {0.8f, 0.0f, 0.6f, 1.0f, 0.96f, -0.28f};
  std::vector<Case> all;
  using Vars = const std::vector<Var>&;
  all.push_back({"add", {{2, 3, 4}, {3, 4}}, [](Tape& t, Vars v) { return t.add(v[0], v[1]); }});
  all.push_back({"add to itself", {{2, 3}}, [](Tape& t, Vars v) { return t.add(v[0], v[0]); }});
  all.push_back(
      {"multiply", {{2, 3, 4}, {4}}, [](Tape& t, Vars v) { return t.multiply(v[0], v[1]); }});
  all.push_back({"scale", {{5}}, [](Tape& t, Vars v) { return t.scale(v[0], -1.5f); }});
  all.push_back({"gelu", {{37}}, [](Tape& t, Vars v) { return t.gelu(v[0]); }});
  all.push_back({"silu", {{3, 11}}, [](Tape& t, Vars v) { return t.silu(v[0]); }});
  all.push_back({"reshape", {{2, 6}}, [](Tape& t, Vars v) {
                   const std::int64_t shape[] = {3, 4};
                   return t.reshape(v[0], shape);
                 }});
  all.push_back({"dropout", {{4, 9}}, [](Tape& t, Vars v) { return t.dropout(v[0], 0.3, 5); }});
  all.push_back(
      {"mean over tokens", {{2, 5, 3}}, [](Tape& t, Vars v) { return t.mean_over_tokens(v[0]); }});
  all.push_back({"linear", {{2, 35, 5}, {7, 5}, {7}}, [](Tape& t, Vars v) {
                   return t.linear(v[0], v[1], v[2]);
                 }});
  all.push_back({"linear without bias", {{4, 5}, {2, 5}}, [](Tape& t, Vars v) {
                   return t.linear(v[0], v[1]);
                 }});
  all.push_back({"embedding", {{5, 3}}, [](Tape& t, Vars v) {
                   return t.embedding(v[0], kIds, kTwoByThree);
                 }});
  all.push_back({"layer_norm", {{3, 19}, {19}, {19}}, [](Tape& t, Vars v) {
                   return t.layer_norm(v[0], v[1], v[2]);
                 }});
  all.push_back(
      {"rms_norm", {{2, 2, 16}, {16}}, [](Tape& t, Vars v) { return t.rms_norm(v[0], v[1]); }});
  all.push_back({"attention", {{2, 4, 4, 3}, {2, 5, 2, 3}, {2, 5, 2, 6}}, [](Tape& t, Vars v) {
                   return t.attention(v[0], v[1], v[2], causal());
                 }});
  all.push_back({"attention with a bias",
                 {{1, 3, 2, 4}, {1, 3, 2, 4}, {1, 3, 2, 4}, {2, 3, 3}},
                 [](Tape& t, Vars v) { return t.attention(v[0], v[1], v[2], {}, v[3]); }});
  all.push_back({"attention of one value", {{1, 4, 1, 3}}, [](Tape& t, Vars v) {
                   return t.attention(v[0], v[0], v[0], causal());
                 }});
  for (const RotaryLayout layout : {RotaryLayout::kInterleaved, RotaryLayout::kHalves}) {
    const bool halves = layout == RotaryLayout::kHalves;
    all.push_back(
        {halves ? "rotate halves" : "rotate neighbours", {{2, 3, 2, 4}}, [=](Tape& t, Vars v) {
           return t.rotate(v[0], {kCosines, {3, 2}}, {kSines, {3, 2}}, layout);
         }});
    // Positions of their own for each sequence, a part of the columns, tables that are larger by
    // YaRN's factor, and gone before the backward pass.
    all.push_back({halves ? "rotate some halves" : "rotate some neighbours",
                   {{2, 3, 2, 7}},
                   [=](Tape& t, Vars v) {
                     const std::int64_t positions[] = {0, 1, 2, 900, -7, 3};
                     RotaryOptions yarn;
                     yarn.scaling = RotaryScaling::kYarn;
                     yarn.factor = 8;
                     yarn.original_length = 512;
                     const RotaryTables tables =
                         rotary_tables({positions, {2, 3}}, rotary_frequencies(4, yarn));
                     return t.rotate(v[0], tables.cosines, tables.sines, layout);
                   }});
  }
  all.push_back({"relative_bias", {{8, 2}}, [](Tape& t, Vars v) {
                   return t.relative_bias(v[0], 4, 5, {true, 8, 4});
                 }});
  all.push_back({"attention with a relative bias",
                 {{1, 3, 2, 4}, {1, 5, 2, 4}, {1, 5, 2, 4}, {4, 2}},
                 [](Tape& t, Vars v) {
                   const Var bias = t.relative_bias(v[3], 3, 5, {false, 4, 3});
                   return t.attention(v[0], v[1], v[2], causal(), bias);
                 }});
  all.push_back({"cross_entropy", {{4, 6}}, [](Tape& t, Vars v) {
                   const std::int64_t targets[] = {5, -1, 0, 3};
                   return t.cross_entropy(v[0], targets);
                 }});
  return all;
}

// The mean square distance of a case's value from a fixed target, or the value if it is a number.
struct Model {
  explicit Model(const Case& c) : case_of(c) {
    random::Generator rng(3);
    int n = 0;
    for (const Shape& shape : c.shapes) {
      parameters.add_normal(std::to_string(n++), shape, 1.0, rng);
    }
  }
  Var loss(Tape& tape) {
    std::vector<Var> vars;
    for (Parameter& p : parameters.all()) vars.push_back(tape.parameter(p));
    const Var y = case_of.run(tape, vars);
    const TensorView value = tape.value(y);
    if (!value.defined() || value.rank == 0) return y;
    std::vector<float> target(static_cast<std::size_t>(value.size()));
    random::Generator rng(4);
    for (float& x : target) x = static_cast<float>(rng.normal());
    return tape.mean_squared_error(
        y, TensorView(target.data(), DType::kFloat32,
                      std::span(value.extents.data(), static_cast<std::size_t>(value.rank))));
  }
  double value() {
    Tape tape;
    const TensorView number = tape.value(loss(tape));
    EXPECT_TRUE(tape.status().ok()) << tape.status().message();
    return number.defined() ? static_cast<double>(*static_cast<const float*>(number.data)) : NAN;
  }
  void backward(const ExecutionOptions& execution = {}) {
    Tape tape(execution);
    parameters.clear_gradients();
    const Var l = loss(tape);
    tape.backward(l);
  }

  Case case_of;
  Parameters parameters;
};

class Operations : public ::testing::TestWithParam<int> {
 protected:
  Case get() const { return cases()[static_cast<std::size_t>(GetParam())]; }
};

TEST_P(Operations, GradientIsThatOfDifferences) {
  Model model(get());
  model.backward();
  constexpr double kStep = 0.02;
  for (Parameter& p : model.parameters.all()) {
    for (std::int64_t i = 0; i < p.value.size(); ++i) {
      float& x = p.value.data<float>()[i];
      const float before = x;
      const auto at = [&](double step) {
        x = static_cast<float>(static_cast<double>(before) + step);
        const double result = model.value();
        x = before;
        return result;
      };
      // Fourth order: float32 leaves some 1e-5 of noise, the step 1e-6 of error.
      const double near = (at(kStep) - at(-kStep)) / (2 * kStep);
      const double far = (at(2 * kStep) - at(-2 * kStep)) / (4 * kStep);
      const double slope = (4 * near - far) / 3;
      const double gradient = static_cast<double>(p.gradient.data<float>()[i]);
      ASSERT_NEAR(gradient, slope, 2e-4 * (1 + std::abs(slope)))
          << get().name << ", " << p.name << "[" << i << "]";
    }
  }
}

TEST_P(Operations, HasTheSameBitsEverywhere) {
  Model model(get());
  ExecutionOptions execution;
  execution.isa = Isa::kPortable;
  execution.threads = 1;
  model.backward(execution);
  std::vector<std::vector<float>> want;
  for (const Parameter& p : model.parameters.all()) {
    want.emplace_back(p.gradient.data<float>(), p.gradient.data<float>() + p.gradient.size());
  }
  for (Isa isa : usable_isas()) {
    for (int threads : {0, 1, 3}) {
      execution.isa = isa;
      execution.threads = threads;
      model.backward(execution);
      std::size_t n = 0;
      for (const Parameter& p : model.parameters.all()) {
        EXPECT_EQ(0, std::memcmp(p.gradient.data<float>(), want[n].data(),
                                 want[n].size() * sizeof(float)))
            << get().name << ", " << name_of(isa) << ", " << threads << " threads";
        ++n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Operations, ::testing::Range(0, static_cast<int>(cases().size())));

TEST(Tape, GivesTheRightNumbers) {
  Tape tape;
  const float x[] = {-2, -0.5f, 0, 1, 3};
  const Var v = tape.constant({x, {5}});
  const auto numbers = [&](Var y) {
    const TensorView view = tape.value(y);
    const auto* first = static_cast<const float*>(view.data);
    return std::vector<float>(first, first + view.size());
  };
  const std::vector<float> gelu = numbers(tape.gelu(v)), silu = numbers(tape.silu(v));
  for (std::size_t n = 0; n < 5; ++n) {
    const double at = static_cast<double>(x[n]);
    EXPECT_NEAR(gelu[n], at * 0.5 * (1 + std::erf(at / std::sqrt(2.0))), 1e-6);
    EXPECT_NEAR(silu[n], at / (1 + std::exp(-at)), 1e-6);
  }
  const float gain[] = {1, 1, 1, 1, 1}, bias[] = {0, 0, 0, 0, 1};
  const std::vector<float> normal =
      numbers(tape.layer_norm(v, tape.constant({gain, {5}}), tape.constant({bias, {5}})));
  double mean = 0, square = 0;
  for (float a : x) mean += static_cast<double>(a) / 5;
  for (float a : x) square += (static_cast<double>(a) - mean) * (static_cast<double>(a) - mean) / 5;
  for (std::size_t n = 0; n < 5; ++n) {
    EXPECT_NEAR(normal[n],
                (static_cast<double>(x[n]) - mean) / std::sqrt(square + 1e-5) + (n == 4 ? 1 : 0),
                1e-6);
  }
  const std::int64_t target[] = {3};
  const Var row = tape.reshape(v, std::vector<std::int64_t>{1, 5});
  double sum = 0;
  for (float a : x) sum += std::exp(static_cast<double>(a));
  EXPECT_NEAR(numbers(tape.cross_entropy(row, target))[0], std::log(sum) - 1, 1e-6);
}

TEST(Tape, SaysWhatDoesNotFit) {
  Parameters parameters;
  random::Generator rng(0);
  const std::int64_t shape[] = {7, 4};
  Parameter& weight = parameters.add_normal("w", shape, 1, rng);
  Parameters of_layer;
  constexpr std::int64_t kHuge = std::int64_t{1} << 32;
  const float x[6] = {};
  const std::pair<std::function<void(Tape&)>, const char*> wrong[] = {
      {[&](Tape& t) { t.linear(t.constant({x, {2, 3}}), t.parameter(weight)); },
       "linear: x [2, 3] and weight [7, 4] don't fit; weight must be [out, in], with the last "
       "dimension of x as in"},
      {[&](Tape& t) { t.add(t.constant({x, {2, 3}}), t.constant({x, {2}})); },
       "add: a [2, 3] and b [2] don't fit; b must have the shape of a or of its last dimensions"},
      {[&](Tape& t) {
         const std::int64_t ids[] = {0, 7};
         const std::int64_t two[] = {2};
         t.embedding(t.parameter(weight), ids, two);
       },
       "embedding: id 7 is not among the 7 rows of the table; count from 0"},
      {[&](Tape& t) {
         const std::int64_t targets[] = {0, 3};
         t.cross_entropy(t.constant({x, {2, 3}}), targets);
       },
       "cross_entropy: target 3 of 3 classes; count from 0"},
      {[&](Tape& t) {
         t.rotate(t.constant({x, {1, 1, 2, 3}}), {x, {2, 1}}, {x, {2, 1}}, RotaryLayout::kHalves);
       },
       "cosines: float32 [2, 1] for x [1, 1, 2, 3]; it must be float32 [tokens, pairs] or [batch, "
       "tokens, pairs], with at most d / 2 pairs"},
      {[&](Tape& t) { t.relative_bias(t.parameter(weight), 2, 2, {true, 8, 16}); },
       "table: float32 [7, 4] does not fit 8 buckets; it must be float32 [8, heads]"},
      {[&](Tape& t) { t.reshape(t.constant({x, {6}}), Shape{-2, -3}); },
       "reshape: [6] has 6 numbers, [-2, -3] has not; pass at most 4 extents whose product is "
       "that"},
      {[&](Tape& t) { t.reshape(t.constant({x, {6}}), Shape{kHuge, kHuge, 6}); },
       "reshape: [6] has 6 numbers, [4294967296, 4294967296, 6] has not; pass at most 4 extents "
       "whose product is that"},
      {[&](Tape& t) { t.embedding(t.parameter(weight), Shape{2}, Shape{-1, -1}); },
       "embedding: table [7, 4] and 1 ids in a shape [-1, -1] don't fit; pass a table [count, d] "
       "and one id a place"},
      {[&](Tape& t) { t.embedding(t.parameter(weight), Shape{}, Shape{kHuge, kHuge}); },
       "embedding: table [7, 4] and 0 ids in a shape [4294967296, 4294967296] don't fit; pass a "
       "table [count, d] and one id a place"},
      {[&](Tape& t) { t.constant({x, {-2, -3}}); },
       "constant: shape [-2, -3] has a negative extent; extents are 0 or more"},
      {[&](Tape& t) { t.constant({x, static_cast<DType>(77), {2}}); },
       "constant: type 77 is unknown; pass a value of DType"},
      {[&](Tape& t) { t.constant({nullptr, DType::kFloat32, {2}}); },
       "constant: null pointer for float32 [2]; pass the address of its first element"},
      {[&](Tape& t) { t.constant({}); }, "constant: (absent) is no float32 tensor; pass one"},
      {[&](Tape& t) {
         const Var old = t.constant({x, {2, 3}});
         t.clear();
         t.constant({x, {4}});
         t.scale(old, 2);
       },
       "scale: an input is no value of this tape; make it after clear(), on the same tape"},
      {[&](Tape& t) {
         Tape other;
         t.constant({x, {4}});
         t.scale(other.constant({x, {2, 3}}), 2);
       },
       "scale: an input is no value of this tape; make it after clear(), on the same tape"},
      {[&](Tape& t) {
         const MultiHeadAttention layer(of_layer, "a", {4, 2}, rng);
         layer(t, t.constant({x, {1, 1, 4}}));
         t.clear();
         layer.last_weights(t);
       },
       "last_weights: this attention was not called on the tape since it was cleared; call it"},
      {[&](Tape& t) { t.gelu({}); },
       "gelu: an input is no value of this tape; make it after clear(), on the same tape"},
      {[&](Tape& t) {
         const Var q = t.constant({x, {1, 1, 2, 3}});
         t.attention(q, q, t.constant({x, {1, 1, 1, 3}}), {});
       },
       "key [1, 2, 1, 3] and value [1, 1, 1, 3] must agree in batch, heads and length; only the "
       "last dimension may differ"},
  };
  for (const auto& [make, message] : wrong) {
    Tape tape;
    make(tape);
    EXPECT_EQ(tape.status().message(), message);
    EXPECT_THROW(tape.backward({}), InvalidArgument);  // the first error stays
    EXPECT_EQ(tape.status().message(), message);
  }
}

// The gradient of sum of w_i^2 / 3 is 2 w_i / 3: once for each loss that is passed back.
TEST(Tape, LossesOfOneTapeAddUp) {
  Parameters parameters;
  Parameter& weight = parameters.add("w", Shape{3}, true);
  for (int n = 0; n < 3; ++n) weight.value.data<float>()[n] = static_cast<float>(3 * n);
  const float* gradient = weight.gradient.data<float>();
  Tape tape;
  const float zeros[3] = {};
  const Var w = tape.parameter(weight);
  const Var y = tape.scale(w, 1), loss = tape.mean_squared_error(y, {zeros, {3}});
  for (const float times : {1.0f, 2.0f, 3.0f}) {
    tape.backward(loss);
    for (int n = 0; n < 3; ++n) EXPECT_FLOAT_EQ(gradient[n], times * static_cast<float>(2 * n));
    EXPECT_FLOAT_EQ(static_cast<const float*>(tape.gradient(y).data)[2], 4);
  }
  Parameter& number = parameters.add("number", Shape{1}, true);
  const Var itself = tape.parameter(number);
  for (const float times : {1.0f, 2.0f}) {
    tape.backward(itself);
    EXPECT_EQ(*number.gradient.data<float>(), times);
  }
}

TEST(Tape, TakesBatchesWithoutRows) {
  Parameters parameters;
  random::Generator rng(0);
  Parameter& weight = parameters.add_normal("w", Shape{3}, 1, rng);
  const LearnedPositions positions(parameters, "positions", 5, 3, rng);
  Tape tape;
  const Var none = tape.constant({static_cast<const float*>(nullptr), {0, 2, 3}});
  for (const Var y : {tape.add(none, tape.parameter(weight)),
                      tape.multiply(none, tape.parameter(weight)), positions(tape, none)}) {
    EXPECT_EQ(shape_string(tape.value(y)), "[0, 2, 3]") << tape.status().message();
  }
}

TEST(Layers, AModelOfAllOfThemLearnsToCopy) {
  // Two encoder tokens decide the class that a decoder token gives: cross-attention must look.
  Parameters parameters;
  random::Generator rng(1);
  const HeadSizes sizes{.d = 16, .heads = 4, .key_heads = 2, .d_head = 0};
  Embedding embed(parameters, "embed", 6, 16, rng, 0.5);
  Block encoder(parameters, "encoder", sizes, 32, rng);
  CrossBlock decoder(parameters, "decoder", sizes, 32, rng);
  Mlp mlp(parameters, "mlp", 16, 24, Activation::kSilu, rng);
  RmsNorm norm(parameters, "norm", 16);
  Linear head(parameters, "head", 16, 4, rng);
  ASSERT_TRUE(parameters.status().ok());
  AdamW optimizer(parameters);
  Tape tape;
  float loss = 0;
  for (int step = 0; step < 150; ++step) {
    tape.clear();
    std::vector<std::int64_t> inputs, asked, targets;
    for (int n = 0; n < 32; ++n) {
      inputs.push_back(rng.integers(0, 4));
      inputs.push_back(rng.integers(0, 4));
      asked.push_back(4 + rng.integers(0, 2));  // which of the two is asked for
      targets.push_back(inputs[inputs.size() - (asked.back() == 4 ? 2 : 1)]);
    }
    const std::int64_t pairs[] = {32, 2}, singles[] = {32, 1}, rows[] = {32, 16};
    static constexpr float kPlaces[2][16] = {{1, 1, 1, 1}, {0, 0, 0, 0, 1, 1, 1, 1}};
    Var encoded = tape.add(embed(tape, inputs, pairs), tape.constant({kPlaces[0], {2, 16}}));
    encoded = encoder(tape, encoded);
    Var x = decoder(tape, embed(tape, asked, singles), encoded, {}, {});
    x = norm(tape, tape.add(x, mlp(tape, x)));
    const Var l = tape.cross_entropy(head(tape, tape.reshape(x, rows)), targets);
    parameters.clear_gradients();
    tape.backward(l);
    clip_gradients(parameters, 1);
    optimizer.step(5e-3f);
    loss = *static_cast<const float*>(tape.value(l).data);
  }
  EXPECT_LT(loss, 0.05f);  // chance is log 4 = 1.39
}

// Two losses of one forward pass: each adds its own gradient, and only that.
TEST(Tape, GoesBackMoreThanOnce) {
  Parameters parameters;
  random::Generator rng(6);
  const Linear trunk(parameters, "trunk", 3, 4, rng);
  const Linear top(parameters, "top", 4, 3, rng);
  const float x[] = {1, -2, 0.5f, 0.25f, 3, -1};
  const std::int64_t targets[] = {2, 0}, others[] = {1, 1};
  const auto gradients = [&](std::vector<std::span<const std::int64_t>> losses) {
    parameters.clear_gradients();
    Tape tape;
    const Var logits = top(tape, tape.gelu(trunk(tape, tape.constant({x, {2, 3}}))));
    for (const auto& wanted : losses) tape.backward(tape.cross_entropy(logits, wanted));
    std::vector<float> all;
    for (const Parameter& p : parameters.all()) {
      all.insert(all.end(), p.gradient.data<float>(), p.gradient.data<float>() + p.gradient.size());
    }
    return all;
  };
  const std::vector<float> one = gradients({targets}), two = gradients({others});
  const std::vector<float> both = gradients({targets, others});
  for (std::size_t n = 0; n < both.size(); ++n) EXPECT_NEAR(both[n], one[n] + two[n], 1e-6) << n;
}

TEST(Layers, HeadsMustDivideATokenOrNameTheirSize) {
  random::Generator rng(0);
  const std::vector<float> x(2 * 3 * 8);
  for (const auto& [sizes, message] : {
           std::pair(HeadSizes{8, 3},
                     "attention: tokens of 8 numbers can't be shared out to 3 "
                     "heads; pass a number of heads that divides them, or d_head"),
           std::pair(HeadSizes{8, 3, 0, 2}, ""),
       }) {
    Parameters parameters;
    const MultiHeadAttention attention(parameters, "a", sizes, rng);
    Tape tape;
    attention(tape, tape.constant({x.data(), {2, 3, 8}}));
    EXPECT_EQ(tape.status().message(), message);
  }
}

}  // namespace
}  // namespace qkv::nn::test
