// Gradients by the public API: what a caller sees of them. Their numbers are judged in
// tests/accuracy/gradient_test.cc, their bits in tests/bits/gradient_bits_test.cc.
#include "qkv/gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
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

// A problem of random numbers and the memory of its gradients.
struct Problem {
  Shape shape;
  Floats q, k, v, d_out, d_q, d_k, d_v;
  AttentionOptions options;

  explicit Problem(const Shape& s) : shape(s) {
    random::Generator generator(7);
    const auto draw = [&](Floats& x, std::int64_t size) {
      x.resize(static_cast<std::size_t>(size));
      for (float& number : x) number = static_cast<float>(generator.normal());
    };
    draw(q, s.batch * s.query_heads * s.queries * s.d_qk);
    draw(k, s.batch * s.key_heads * s.keys * s.d_qk);
    draw(v, s.batch * s.key_heads * s.keys * s.d_v);
    draw(d_out, s.batch * s.query_heads * s.queries * s.d_v);
    d_q.assign(q.size(), kNaN);
    d_k.assign(k.size(), kNaN);
    d_v.assign(v.size(), kNaN);
  }

  TensorView view(const Floats& x, std::int64_t heads, std::int64_t length, std::int64_t d) const {
    return {x.data(), {shape.batch, heads, length, d}};
  }
  MutableTensorView view(Floats& x, std::int64_t heads, std::int64_t length, std::int64_t d) const {
    return {x.data(), {shape.batch, heads, length, d}};
  }
  GradientInputs inputs() const {
    GradientInputs in;
    in.query = view(q, shape.query_heads, shape.queries, shape.d_qk);
    in.key = view(k, shape.key_heads, shape.keys, shape.d_qk);
    in.value = view(v, shape.key_heads, shape.keys, shape.d_v);
    in.d_out = view(d_out, shape.query_heads, shape.queries, shape.d_v);
    return in;
  }
  GradientOutputs outputs() {
    GradientOutputs out;
    out.d_query = view(d_q, shape.query_heads, shape.queries, shape.d_qk);
    out.d_key = view(d_k, shape.key_heads, shape.keys, shape.d_qk);
    out.d_value = view(d_v, shape.key_heads, shape.keys, shape.d_v);
    return out;
  }
  void run(const ExecutionOptions& execution = {}) {
    attention_gradients(inputs(), outputs(), options, execution);
  }
  Floats all() const {
    Floats all = d_q;
    all.insert(all.end(), d_k.begin(), d_k.end());
    all.insert(all.end(), d_v.begin(), d_v.end());
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

TEST(Gradients, OfOneKeyGoToItsValueAlone) {
  Problem p({.queries = 3, .keys = 1});
  p.run();
  EXPECT_THAT(p.d_q, ::testing::Each(0.0f));
  EXPECT_THAT(p.d_k, ::testing::Each(0.0f));
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(p.d_v[c], (p.d_out[c] + p.d_out[4 + c]) + p.d_out[8 + c]) << c;
  }
}

// The lesson's query [1, 2] with its three keys and values, d_out = [1, 0], by hand: w = softmax of
// the scores, ds_j = w_j (v_j0 - out_0), d_q = scale sum of ds_j k_j, d_k_j = scale ds_j q.
TEST(Gradients, OfTheLessonsQuery) {
  Problem p({.queries = 1, .keys = 3, .d_qk = 2, .d_v = 2});
  p.q = {1, 2};
  p.k = {1, 0, 0, 1, 1, 1};
  p.v = {10, 0, 0, 10, 5, 5};
  p.d_out = {1, 0};
  p.run();
  const double scale = 1 / std::sqrt(2.0);
  const double e[] = {std::exp(scale), std::exp(2 * scale), std::exp(3 * scale)};
  const double sum = e[0] + e[1] + e[2];
  const double out = (10 * e[0] + 5 * e[2]) / sum;
  const double ds[] = {e[0] / sum * (10 - out), e[1] / sum * (0 - out), e[2] / sum * (5 - out)};
  EXPECT_NEAR(p.d_q[0], scale * (ds[0] + ds[2]), 1e-6);
  EXPECT_NEAR(p.d_q[1], scale * (ds[1] + ds[2]), 1e-6);
  for (std::size_t j = 0; j < 3; ++j) {
    EXPECT_NEAR(p.d_k[2 * j], scale * ds[j], 1e-6) << j;
    EXPECT_NEAR(p.d_k[2 * j + 1], 2 * scale * ds[j], 1e-6) << j;
    EXPECT_NEAR(p.d_v[2 * j], e[j] / sum, 1e-6) << j;
    EXPECT_EQ(p.d_v[2 * j + 1], 0.0f) << j;
  }
}

TEST(Gradients, OfMaskedPairsAreZeroWhateverIsInThem) {
  Problem p({.query_heads = 2, .queries = 40, .keys = 70, .d_qk = 5, .d_v = 3});
  // The first rows see no key; the last key is seen by nobody and holds no numbers.
  p.options.mask_mod = mask_mod([](std::int64_t, std::int64_t, std::int64_t position,
                                   std::int64_t j) { return position >= 40 && j < 69; });
  for (std::size_t c = 0; c < 5; ++c) p.k[69 * 5 + c] = c % 2 == 0 ? kNaN : kInf;
  for (std::size_t c = 0; c < 3; ++c) p.v[69 * 3 + c] = kInf;
  for (std::size_t c = 0; c < 5; ++c) p.q[c] = kNaN;       // row 0, at position 30
  for (std::size_t c = 0; c < 3; ++c) p.d_out[c] = -kInf;  // of the same row
  p.run();
  for (float x : p.all()) EXPECT_TRUE(std::isfinite(x));
  for (std::size_t c = 0; c < 50; ++c) EXPECT_EQ(p.d_q[c], 0.0f);
  for (std::size_t c = 0; c < 5; ++c) EXPECT_EQ(p.d_k[69 * 5 + c], 0.0f);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(p.d_v[69 * 3 + c], 0.0f);
}

TEST(Gradients, AreZeroWithoutQueriesOrKeys) {
  Problem no_keys({.queries = 3, .keys = 0});
  no_keys.run();
  EXPECT_THAT(no_keys.d_q, ::testing::Each(0.0f));
  Problem no_queries({.queries = 0, .keys = 5});
  no_queries.run();
  EXPECT_THAT(no_queries.d_k, ::testing::Each(0.0f));
  EXPECT_THAT(no_queries.d_v, ::testing::Each(0.0f));
}

TEST(Gradients, OfASumAreThoseOfOnes) {  // as autograd's expanded gradient, all strides 0
  Problem p({.batch = 2, .query_heads = 4, .key_heads = 2, .queries = 33, .keys = 50});
  std::fill(p.d_out.begin(), p.d_out.end(), 1.0f);
  p.run();
  const Floats want = p.all();
  const float one = 1;
  GradientInputs inputs = p.inputs();
  inputs.d_out.data = &one;
  inputs.d_out.strides = {};
  attention_gradients(inputs, p.outputs(), p.options);
  EXPECT_TRUE(same_bits(p.all(), want));
}

TEST(Gradients, DontDependOnWhoComputedTheForwardPass) {
  Problem p({.query_heads = 2, .queries = 90, .keys = 130, .d_qk = 17, .d_v = 9});
  p.options.causal = true;
  p.options.sinks = {0.5f, -kInf};
  p.run();
  const Floats want = p.all();
  Floats out(p.d_out.size()), row_max(180), row_sum(180), lse(180);
  AttentionOutputs forward;
  forward.out = {out.data(), {1, 2, 90, 9}};
  forward.row_max = {row_max.data(), {1, 2, 90}};
  forward.row_sum = {row_sum.data(), {1, 2, 90}};
  forward.lse = {lse.data(), {1, 2, 90}};
  GradientInputs inputs = p.inputs();
  attention({inputs.query, inputs.key, inputs.value}, forward, p.options);
  inputs.out = forward.out;
  inputs.row_max = forward.row_max;
  inputs.row_sum = forward.row_sum;
  attention_gradients(inputs, p.outputs(), p.options);
  EXPECT_TRUE(same_bits(p.all(), want));
  // From the LSE the bits are others, the numbers nearly the same.
  inputs.row_max = inputs.row_sum = TensorView();
  inputs.lse = forward.lse;
  attention_gradients(inputs, p.outputs(), p.options);
  const Floats close = p.all();
  for (std::size_t n = 0; n < want.size(); ++n) EXPECT_NEAR(close[n], want[n], 1e-5) << n;
}

// Several columns of keys a head, so that threads wait for each other.
TEST(Gradients, OfLongSequencesAreTheSameOnAnyNumberOfThreads) {
  for (int kind = 0; kind < 4; ++kind) {
    Problem p({.query_heads = 2,
               .key_heads = kind == 3 ? 1 : 2,
               .queries = 3000,
               .keys = 5200,
               .d_qk = 8,
               .d_v = 4});
    p.options.causal = kind == 1;
    if (kind == 2) p.options.window = {.left = 700, .right = 100};
    p.run(on_threads(1));
    const Floats want = p.all();
    for (int threads : {0, 2, 3, 8}) {
      std::fill(p.d_q.begin(), p.d_q.end(), kNaN);
      p.run(on_threads(threads));
      EXPECT_TRUE(same_bits(p.all(), want)) << kind << ", " << threads << " threads";
    }
  }
}

TEST(Gradients, InFloat64AreThoseOfFloat32ButExacter) {
  Problem p({.batch = 2, .query_heads = 2, .queries = 20, .keys = 30});
  p.run();
  const auto wide = [](const Floats& x) { return std::vector<double>(x.begin(), x.end()); };
  const std::vector<double> q = wide(p.q), k = wide(p.k), v = wide(p.v), d_out = wide(p.d_out);
  GradientInputs inputs;
  inputs.query = {q.data(), {2, 2, 20, 4}};
  inputs.key = {k.data(), {2, 1, 30, 4}};
  inputs.value = {v.data(), {2, 1, 30, 4}};
  inputs.d_out = {d_out.data(), {2, 2, 20, 4}};
  const AttentionGradients wide_gradients = attention_gradients(inputs);
  ASSERT_EQ(wide_gradients.d_query.dtype(), DType::kFloat64);
  for (std::size_t n = 0; n < p.d_q.size(); ++n) {
    EXPECT_NEAR(wide_gradients.d_query.data<double>()[n], p.d_q[n], 1e-5);
  }
  for (std::size_t n = 0; n < p.d_k.size(); ++n) {
    EXPECT_NEAR(wide_gradients.d_key.data<double>()[n], p.d_k[n], 1e-5);
    EXPECT_NEAR(wide_gradients.d_value.data<double>()[n], p.d_v[n], 1e-5);
  }
}

TEST(Gradients, TakeAWorkspaceOfTheCallers) {
  Problem p({.query_heads = 2, .queries = 1100, .keys = 2100});
  p.run();
  const Floats want = p.all();
  GradientPlan plan(p.inputs(), p.outputs(), p.options);
  std::vector<std::byte> workspace(plan.description().workspace_bytes + 1);
  plan.run(std::span(workspace).subspan(1));  // any alignment
  EXPECT_TRUE(same_bits(p.all(), want));
  EXPECT_THROW(plan.run(std::span(workspace).first(100)), InvalidArgument);
}

// Results are made in the shape and type of each input, so those are checked before.
TEST(Gradients, ThatAreReturnedNameTheInputThatIsWrong) {
  const float x[8] = {};
  GradientInputs in;
  in.query = in.key = in.value = TensorView(x, {2, 4});
  const auto message = [&] {
    try {
      attention_gradients(in);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  in.query.dtype = static_cast<DType>(99);
  EXPECT_EQ(message(), "query: type 99 is unknown; pass a value of DType");
  in.query.dtype = DType::kFloat32;
  in.value.extents[0] = -2;
  EXPECT_EQ(message(), "value: shape [-2, 4] has a negative extent; extents are 0 or more");
}

TEST(Gradients, CanBeCancelledAndRunAgain) {
  for (int threads : {1, 3}) {
    Problem p({.query_heads = 3, .queries = 600, .keys = 3000});
    std::atomic<bool> cancel{false};
    std::atomic<int> calls{0}, stop_at{-1};
    p.options.mask_mod = [&](const MaskTile&) {
      if (++calls == stop_at) cancel = true;
    };
    ExecutionOptions execution;
    execution.threads = threads;
    execution.cancel = &cancel;
    GradientPlan plan(p.inputs(), p.outputs(), p.options, execution);
    plan.run();
    const Floats want = p.all();
    const int all = calls.exchange(0);
    stop_at = all / 2;
    EXPECT_THROW(plan.run(), Cancelled);
    EXPECT_LT(calls, all);
    cancel = false;
    plan.run();
    EXPECT_TRUE(same_bits(p.all(), want));
  }
}

TEST(Gradients, StopAtAnExceptionOfACallback) {
  struct Mine {};
  Problem p({.query_heads = 2, .queries = 300, .keys = 2500});
  p.options.score_mod = [](const ScoreTile&) {};
  p.options.score_mod_gradient = [](const ScoreGradientTile& tile) {
    if (tile.first_key >= 2048) throw Mine();
  };
  EXPECT_THROW(p.run(on_threads(2)), Mine);
}

TEST(Gradients, ReportProgressUpToOne) {
  Problem p({.query_heads = 4, .queries = 500, .keys = 3000});
  Floats reported;
  ExecutionOptions execution;
  execution.progress = [&](double share) { reported.push_back(static_cast<float>(share)); };
  p.run(execution);
  ASSERT_FALSE(reported.empty());
  EXPECT_TRUE(std::is_sorted(reported.begin(), reported.end()));
  EXPECT_EQ(reported.back(), 1.0f);
}

}  // namespace
}  // namespace qkv::test
