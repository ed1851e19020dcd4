// Tangents by the public API: what a caller sees of them. Their numbers are judged in
// tests/accuracy/tangent_test.cc, their bits in tests/bits/tangent_bits_test.cc.
#include "qkv/tangent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "qkv/random.h"

namespace qkv::test {
namespace {

using Floats = std::vector<float>;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Shape {
  std::int64_t batch = 1, query_heads = 1, key_heads = 1, queries = 1, keys = 1, d_qk = 4, d_v = 4;
};

// A problem of random numbers and directions, and the memory of its tangents.
struct Problem {
  Shape shape;
  Floats q, k, v, d_out, q_dot, k_dot, v_dot, d_out_dot;
  Floats out, lse, d_q, d_k, d_v;
  AttentionOptions options;

  explicit Problem(const Shape& s) : shape(s) {
    random::Generator generator(8);
    const auto draw = [&](Floats& x, std::int64_t size) {
      x.resize(static_cast<std::size_t>(size));
      for (float& number : x) number = static_cast<float>(generator.normal());
    };
    for (Floats* x : {&q, &q_dot}) draw(*x, s.batch * s.query_heads * s.queries * s.d_qk);
    for (Floats* x : {&k, &k_dot}) draw(*x, s.batch * s.key_heads * s.keys * s.d_qk);
    for (Floats* x : {&v, &v_dot}) draw(*x, s.batch * s.key_heads * s.keys * s.d_v);
    for (Floats* x : {&d_out, &d_out_dot}) draw(*x, s.batch * s.query_heads * s.queries * s.d_v);
    forget();
  }
  void forget() {
    out.assign(d_out.size(), kNaN);
    lse.assign(static_cast<std::size_t>(shape.batch * shape.query_heads * shape.queries), kNaN);
    d_q.assign(q.size(), kNaN);
    d_k.assign(k.size(), kNaN);
    d_v.assign(v.size(), kNaN);
  }

  template <class Vector>
  auto of_queries(Vector& x, std::int64_t d) const {
    return MutableTensorView(const_cast<float*>(x.data()),
                             {shape.batch, shape.query_heads, shape.queries, d});
  }
  template <class Vector>
  auto of_keys(Vector& x, std::int64_t d) const {
    return MutableTensorView(const_cast<float*>(x.data()),
                             {shape.batch, shape.key_heads, shape.keys, d});
  }
  GradientInputs inputs() const {
    GradientInputs in;
    in.query = of_queries(q, shape.d_qk);
    in.key = of_keys(k, shape.d_qk);
    in.value = of_keys(v, shape.d_v);
    in.d_out = of_queries(d_out, shape.d_v);
    return in;
  }
  Tangents tangents() const {
    Tangents t;
    t.query = of_queries(q_dot, shape.d_qk);
    t.key = of_keys(k_dot, shape.d_qk);
    t.value = of_keys(v_dot, shape.d_v);
    t.d_out = of_queries(d_out_dot, shape.d_v);
    return t;
  }
  void run(const GradientInputs& in, const Tangents& t, const ExecutionOptions& execution = {}) {
    TangentOutputs forward;
    forward.out = of_queries(out, shape.d_v);
    forward.lse = {lse.data(), {shape.batch, shape.query_heads, shape.queries}};
    attention_tangents(in, t, forward, options, execution);
    if (options.score_mod) return;
    GradientOutputs backward;
    backward.d_query = of_queries(d_q, shape.d_qk);
    backward.d_key = of_keys(d_k, shape.d_qk);
    backward.d_value = of_keys(d_v, shape.d_v);
    attention_gradient_tangents(in, t, backward, options, execution);
  }
  void run(const ExecutionOptions& execution = {}) { run(inputs(), tangents(), execution); }
  Floats all() const {
    Floats all;
    for (const Floats* x : {&out, &lse, &d_q, &d_k, &d_v})
      all.insert(all.end(), x->begin(), x->end());
    return all;
  }
};

ExecutionOptions on_threads(int threads) {
  ExecutionOptions execution;
  execution.threads = threads;
  return execution;
}

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

TEST(Tangents, OfOneKeyAreThoseOfItsValueAlone) {
  Problem p({.queries = 3, .keys = 1});
  p.run();
  for (std::size_t n = 0; n < p.out.size(); ++n) EXPECT_EQ(p.out[n], p.v_dot[n % 4]) << n;
  EXPECT_THAT(p.d_q, ::testing::Each(0.0f));
  EXPECT_THAT(p.d_k, ::testing::Each(0.0f));
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(p.d_v[c], (p.d_out_dot[c] + p.d_out_dot[4 + c]) + p.d_out_dot[8 + c]) << c;
  }
}

// The lesson's query [1, 2] with its three keys and values, by hand: as the query moves along [1,
// 0], scores move by scale * [1, 0, 1], so that LSE moves by their mean, and out by sum of w (s. -
// lse.) v.
TEST(Tangents, OfTheLessonsQuery) {
  Problem p({.queries = 1, .keys = 3, .d_qk = 2, .d_v = 2});
  p.q = {1, 2};
  p.q_dot = {1, 0};
  p.k = {1, 0, 0, 1, 1, 1};
  p.v = {10, 0, 0, 10, 5, 5};
  Tangents t;
  t.query = p.tangents().query;
  p.run(p.inputs(), t);
  const double scale = 1 / std::sqrt(2.0);
  const double e[] = {std::exp(scale), std::exp(2 * scale), std::exp(3 * scale)};
  const double sum = e[0] + e[1] + e[2];
  const double w[] = {e[0] / sum, e[1] / sum, e[2] / sum};
  const double lse = scale * (w[0] + w[2]);
  EXPECT_NEAR(p.lse[0], lse, 1e-6);
  EXPECT_NEAR(p.out[0], 10 * w[0] * (scale - lse) + 5 * w[2] * (scale - lse), 1e-5);
  EXPECT_NEAR(p.out[1], 10 * w[1] * (0 - lse) + 5 * w[2] * (scale - lse), 1e-5);
}

TEST(Tangents, OfMaskedPairsAreZeroWhateverIsInThem) {
  Problem p({.query_heads = 2, .queries = 40, .keys = 70, .d_qk = 5, .d_v = 3});
  // The first rows see no key; the last key is seen by nobody and holds no numbers.
  p.options.mask_mod = mask_mod([](std::int64_t, std::int64_t, std::int64_t position,
                                   std::int64_t j) { return position >= 40 && j < 69; });
  for (Floats* x : {&p.k, &p.k_dot}) std::fill(x->begin() + 69 * 5, x->end(), kNaN);
  for (Floats* x : {&p.v, &p.v_dot}) std::fill(x->begin() + 69 * 3, x->end(), kInf);
  for (Floats* x : {&p.q, &p.q_dot}) std::fill(x->begin(), x->begin() + 5, kNaN);  // row 0
  for (Floats* x : {&p.d_out, &p.d_out_dot}) std::fill(x->begin(), x->begin() + 3, -kInf);
  p.run();
  for (float x : p.all()) EXPECT_TRUE(std::isfinite(x));
  for (std::size_t c = 0; c < 30; ++c) EXPECT_EQ(p.out[c], 0.0f);
  for (std::size_t r = 0; r < 10; ++r) EXPECT_EQ(p.lse[r], 0.0f);
  for (std::size_t c = 0; c < 50; ++c) EXPECT_EQ(p.d_q[c], 0.0f);
  for (std::size_t c = 0; c < 5; ++c) EXPECT_EQ(p.d_k[69 * 5 + c], 0.0f);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(p.d_v[69 * 3 + c], 0.0f);
}

TEST(Tangents, AreZeroWithoutQueriesOrKeysOrDirections) {
  Problem no_keys({.queries = 3, .keys = 0});
  no_keys.run();
  EXPECT_THAT(no_keys.all(), ::testing::Each(0.0f));
  Problem no_queries({.queries = 0, .keys = 5});
  no_queries.run();
  EXPECT_THAT(no_queries.all(), ::testing::Each(0.0f));
  Problem still({.query_heads = 2, .queries = 70, .keys = 90});
  still.run(still.inputs(), {});
  EXPECT_THAT(still.all(), ::testing::Each(0.0f));
}

TEST(Tangents, OfAbsentDirectionsAreThoseOfZeros) {
  Problem p({.query_heads = 2, .queries = 70, .keys = 90});
  std::fill(p.k_dot.begin(), p.k_dot.end(), 0.0f);
  std::fill(p.d_out_dot.begin(), p.d_out_dot.end(), 0.0f);
  p.run();
  const Floats want = p.all();
  Tangents t = p.tangents();
  t.key = t.d_out = TensorView();
  p.forget();
  p.run(p.inputs(), t);
  EXPECT_TRUE(same_bits(p.all(), want));
}

TEST(Tangents, OfTwiceTheDirectionAreTwiceAsLarge) {
  Problem p({.query_heads = 4, .key_heads = 2, .queries = 100, .keys = 150, .d_qk = 20, .d_v = 9});
  p.options.softcap = 3.0f;
  p.options.causal = true;
  p.run();
  Floats want = p.all();
  for (float& x : want) x *= 2;
  for (Floats* x : {&p.q_dot, &p.k_dot, &p.v_dot, &p.d_out_dot}) {
    for (float& number : *x) number *= 2;
  }
  p.run();
  EXPECT_TRUE(same_bits(p.all(), want));
}

TEST(Tangents, DontDependOnTheBatch) {
  Problem both({.batch = 2, .query_heads = 2, .key_heads = 1, .queries = 90, .keys = 130});
  both.run();
  Problem one({.query_heads = 2, .key_heads = 1, .queries = 90, .keys = 130});
  const auto second_half = [](const Floats& x) {
    return Floats(x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  };
  one.q = second_half(both.q);
  one.k = second_half(both.k);
  one.v = second_half(both.v);
  one.d_out = second_half(both.d_out);
  one.q_dot = second_half(both.q_dot);
  one.k_dot = second_half(both.k_dot);
  one.v_dot = second_half(both.v_dot);
  one.d_out_dot = second_half(both.d_out_dot);
  one.run();
  EXPECT_TRUE(same_bits(one.out, second_half(both.out)));
  EXPECT_TRUE(same_bits(one.lse, second_half(both.lse)));
  EXPECT_TRUE(same_bits(one.d_q, second_half(both.d_q)));
  EXPECT_TRUE(same_bits(one.d_k, second_half(both.d_k)));
  EXPECT_TRUE(same_bits(one.d_v, second_half(both.d_v)));
}

TEST(Tangents, DontDependOnWhoComputedTheForwardPass) {
  Problem p({.query_heads = 2, .queries = 90, .keys = 130, .d_qk = 17, .d_v = 9});
  p.options.causal = true;
  p.options.sinks = {0.5f, -kInf};
  p.run();
  const Floats want = p.all();
  Floats out(p.d_out.size()), row_max(180), row_sum(180);
  AttentionOutputs forward;
  forward.out = {out.data(), {1, 2, 90, 9}};
  forward.row_max = {row_max.data(), {1, 2, 90}};
  forward.row_sum = {row_sum.data(), {1, 2, 90}};
  GradientInputs inputs = p.inputs();
  attention({inputs.query, inputs.key, inputs.value}, forward, p.options);
  inputs.out = forward.out;
  inputs.row_max = forward.row_max;
  inputs.row_sum = forward.row_sum;
  p.forget();
  p.run(inputs, p.tangents());
  EXPECT_TRUE(same_bits(p.all(), want));
}

// Several columns of keys a head, several spans of queries.
TEST(Tangents, OfLongSequencesAreTheSameOnAnyNumberOfThreads) {
  for (int kind = 0; kind < 4; ++kind) {
    Problem p({.query_heads = 2,
               .key_heads = kind == 3 ? 1 : 2,
               .queries = 1100,
               .keys = 3200,
               .d_qk = 5,
               .d_v = 4});
    p.options.causal = kind == 1;
    if (kind == 2) p.options.window = {.left = 700, .right = 400};
    p.run(on_threads(1));
    const Floats want = p.all();
    for (int threads : {0, 2, 3}) {
      p.forget();
      p.run(on_threads(threads));
      EXPECT_TRUE(same_bits(p.all(), want)) << kind << ", " << threads << " threads";
    }
  }
}

TEST(Tangents, InFloat64AreThoseOfFloat32ButExacter) {
  Problem p({.batch = 2, .query_heads = 2, .queries = 20, .keys = 30});
  p.run();
  const auto wide = [](const Floats& x) { return std::vector<double>(x.begin(), x.end()); };
  const std::vector<double> q = wide(p.q), k = wide(p.k), v = wide(p.v), d_out = wide(p.d_out),
                            q_dot = wide(p.q_dot), k_dot = wide(p.k_dot), v_dot = wide(p.v_dot),
                            d_out_dot = wide(p.d_out_dot);
  GradientInputs inputs;
  inputs.query = {q.data(), {2, 2, 20, 4}};
  inputs.key = {k.data(), {2, 1, 30, 4}};
  inputs.value = {v.data(), {2, 1, 30, 4}};
  inputs.d_out = {d_out.data(), {2, 2, 20, 4}};
  Tangents t;
  t.query = {q_dot.data(), {2, 2, 20, 4}};
  t.key = {k_dot.data(), {2, 1, 30, 4}};
  t.value = {v_dot.data(), {2, 1, 30, 4}};
  t.d_out = {d_out_dot.data(), {2, 2, 20, 4}};
  const Tensor out = attention_tangents(inputs, t);
  const AttentionGradients gradients = attention_gradient_tangents(inputs, t);
  ASSERT_EQ(out.dtype(), DType::kFloat64);
  ASSERT_EQ(gradients.d_key.dtype(), DType::kFloat64);
  const auto near = [](const Tensor& a, const Floats& b) {
    for (std::size_t n = 0; n < b.size(); ++n) EXPECT_NEAR(a.data<double>()[n], b[n], 1e-4) << n;
  };
  near(out, p.out);
  near(gradients.d_query, p.d_q);
  near(gradients.d_key, p.d_k);
  near(gradients.d_value, p.d_v);
}

// One task adds up what key heads share.
TEST(Tangents, OfBiasAndSinksInFloat64AreThoseOfFloat32) {
  constexpr std::int64_t kHeads = 4, kQueries = 9, kKeys = 13, kColumns = 5;
  random::Generator generator(9);
  const auto draw = [&](std::int64_t size) {
    std::vector<double> x(static_cast<std::size_t>(size));
    for (double& number : x) number = static_cast<double>(static_cast<float>(generator.normal()));
    return x;
  };
  const auto narrow = [](const std::vector<double>& x) { return Floats(x.begin(), x.end()); };
  const std::vector<double> q = draw(kHeads * kQueries * kColumns), k = draw(2 * kKeys * kColumns),
                            v = draw(2 * kKeys * kColumns),
                            d_out = draw(kHeads * kQueries * kColumns), bias = draw(kHeads * kKeys),
                            bias_dot = draw(kHeads * kKeys), sinks_dot = draw(kHeads);
  const Floats q32 = narrow(q), k32 = narrow(k), v32 = narrow(v), d_out32 = narrow(d_out),
               bias32 = narrow(bias), bias_dot32 = narrow(bias_dot),
               sinks_dot32 = narrow(sinks_dot);
  const auto run = [&](const auto& query, const auto& key, const auto& value, const auto& incoming,
                       const auto& of_bias, const auto& of_bias_dot, const auto& of_sinks_dot,
                       auto& d_bias, auto& d_sinks) {
    GradientInputs in;
    in.query = {query.data(), {1, kHeads, kQueries, kColumns}};
    in.key = {key.data(), {1, 2, kKeys, kColumns}};
    in.value = {value.data(), {1, 2, kKeys, kColumns}};
    in.d_out = {incoming.data(), {1, kHeads, kQueries, kColumns}};
    AttentionOptions options;
    options.bias = {of_bias.data(), {kHeads, 1, kKeys}};
    options.sinks = {0.5f, -1.0f, -kInf, 2.0f};
    options.softcap = 2.0f;
    options.causal = true;
    options.dropout = {.probability = 0.25, .seed = 3, .streams = {}};
    Tangents t;
    t.query = in.d_out;
    t.key = in.value;
    t.bias = {of_bias_dot.data(), {kHeads, 1, kKeys}};
    t.sinks = {of_sinks_dot.data(), {kHeads}};
    GradientOutputs out;
    out.d_bias = {d_bias.data(), {kHeads, 1, kKeys}};
    out.d_sinks = {d_sinks.data(), {kHeads}};
    attention_gradient_tangents(in, t, out, options);
  };
  std::vector<double> d_bias(kHeads * kKeys), d_sinks(kHeads);
  Floats d_bias32(kHeads * kKeys), d_sinks32(kHeads);
  run(q, k, v, d_out, bias, bias_dot, sinks_dot, d_bias, d_sinks);
  run(q32, k32, v32, d_out32, bias32, bias_dot32, sinks_dot32, d_bias32, d_sinks32);
  for (std::size_t n = 0; n < d_bias.size(); ++n) EXPECT_NEAR(d_bias[n], d_bias32[n], 2e-5) << n;
  for (std::size_t n = 0; n < d_sinks.size(); ++n) EXPECT_NEAR(d_sinks[n], d_sinks32[n], 2e-5) << n;
  EXPECT_GT(std::abs(d_sinks[0]), 1e-3);
  EXPECT_EQ(d_sinks[2], 0.0);
}

TEST(Tangents, OfGradientsHaveNoScoreMod) {
  Problem p({.queries = 3, .keys = 5});
  p.options.score_mod = score_mod([](float s, auto, auto, auto, auto) { return s * s; });
  p.options.score_mod_gradient =
      score_mod_gradient([](float s, auto, auto, auto, auto) { return 2 * s; });
  p.run();  // of attention alone
  for (float x : p.out) EXPECT_TRUE(std::isfinite(x));
  try {
    (void)attention_gradient_tangents(p.inputs(), p.tangents(), p.options);
    FAIL();
  } catch (const Unsupported& error) {
    EXPECT_STREQ(error.what(),
                 "score_mod: tangents of gradients need its second derivative, which can't be "
                 "given; use bias, softcap or ALiBi, or ask for tangents of attention only");
  }
}

TEST(Tangents, CanBeCancelled) {
  for (int threads : {1, 3}) {
    Problem p({.query_heads = 3, .queries = 300, .keys = 2100});
    std::atomic<bool> cancel{false};
    std::atomic<int> calls{0};
    p.options.mask_mod = [&](const MaskTile&) {
      if (++calls == 500) cancel = true;
    };
    ExecutionOptions execution = on_threads(threads);
    execution.cancel = &cancel;
    EXPECT_THROW(p.run(execution), Cancelled);
  }
}

TEST(Tangents, StopAtAnExceptionOfACallback) {
  struct Mine {};
  Problem p({.query_heads = 2, .queries = 300, .keys = 2500});
  p.options.score_mod = [](const ScoreTile&) {};
  p.options.score_mod_gradient = [](const ScoreGradientTile& tile) {
    if (tile.first_key >= 2048) throw Mine();
  };
  EXPECT_THROW(p.run(on_threads(2)), Mine);
}

TEST(Tangents, ReportProgressUpToOne) {
  Problem p({.query_heads = 4, .queries = 500, .keys = 3000});
  Floats reported;
  ExecutionOptions execution;
  execution.progress = [&](double share) { reported.push_back(static_cast<float>(share)); };
  (void)attention_gradient_tangents(p.inputs(), p.tangents(), p.options, execution);
  ASSERT_FALSE(reported.empty());
  EXPECT_TRUE(std::is_sorted(reported.begin(), reported.end()));
  EXPECT_EQ(reported.back(), 1.0f);
}

}  // namespace
}  // namespace qkv::test
