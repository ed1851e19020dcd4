// Every number of the lesson "Attention: queries, keys, values", from qkv's own API.
#include "api/attention_test_util.h"
#include "qkv/random.h"

namespace qkv::test {
namespace {

// As np.round prints it.
double rounded(double value, int digits) {
  const double power = std::pow(10.0, digits);
  return std::round(value * power) / power;
}

class Lesson : public SettingTest {};
INSTANTIATE_TEST_SUITE_P(AllKernels, Lesson, ::testing::ValuesIn(all_settings()), setting_name);

// [1, 2] . [1, 1] = 3: with one key, the log of the sum of exponentials is the score itself.
TEST_P(Lesson, DotProduct) {
  const Array q = array({1, 2}, {1, 2}), k = array({1, 2}, {1, 1});
  EXPECT_EQ(attend(setting(), q, k, column({0}), unscaled()).lse[0], 3.0);
  // "Zero at right angles, and negative when they point apart."
  EXPECT_EQ(attend(setting(), q, array({1, 2}, {-2, 1}), column({0}), unscaled()).lse[0], 0.0);
  EXPECT_EQ(attend(setting(), q, array({1, 2}, {-1, -1}), column({0}), unscaled()).lse[0], -3.0);
}

// Attention(Q, K, V) for q = [1, 2], keys [1, 0], [0, 1], [1, 1], values [10, 0], [0, 10], [5, 5].
TEST_P(Lesson, WorkedExample) {
  const Results r = attend(setting(), array({1, 2}, {1, 2}), array({3, 2}, {1, 0, 0, 1, 1, 1}),
                           array({3, 2}, {10, 0, 0, 10, 5, 5}));
  EXPECT_EQ(rounded(r.weights[0], 3), 0.140);
  EXPECT_EQ(rounded(r.weights[1], 3), 0.284);
  EXPECT_EQ(rounded(r.weights[2], 3), 0.576);
  EXPECT_EQ(rounded(r.out[0], 2), 4.28);
  EXPECT_EQ(rounded(r.out[1], 2), 5.72);
  // The same by hand: scores 1, 2, 3 over sqrt(2).
  const double e[] = {std::exp(1 / std::sqrt(2)), std::exp(2 / std::sqrt(2)),
                      std::exp(3 / std::sqrt(2))};
  const double sum = e[0] + e[1] + e[2];
  near(r.weights, {e[0] / sum, e[1] / sum, e[2] / sum});
  near(r.out, {(10 * e[0] + 5 * e[2]) / sum, (10 * e[1] + 5 * e[2]) / sum});
}

// "A longer query picks more sharply."
TEST_P(Lesson, LongerQuery) {
  double before = 0;
  for (double length : {0.0, 0.5, 1.0, 2.0, 4.0}) {
    const Results r = attend(setting(), array({1, 2}, {length, 2 * length}),
                             array({3, 2}, {1, 0, 0, 1, 1, 1}), column({0, 0, 0}));
    EXPECT_GT(r.weights[2], before) << length;
    before = r.weights[2];
  }
}

// Softmax of [8, 0, -8] is [0.99966, 0.00034, 0.0000001], of [1, 0, -1] [0.665, 0.245, 0.090].
TEST_P(Lesson, Saturation) {
  const Array k = column({1, 0, -1}), v = column({0, 0, 0});
  const Array sharp = attend(setting(), column({8}), k, v, unscaled()).weights;
  EXPECT_EQ(rounded(sharp[0], 5), 0.99966);
  EXPECT_EQ(rounded(sharp[1], 5), 0.00034);
  EXPECT_EQ(rounded(sharp[2], 7), 0.0000001);
  const Array soft = attend(setting(), column({1}), k, v, unscaled()).weights;
  EXPECT_EQ(rounded(soft[0], 3), 0.665);
  EXPECT_EQ(rounded(soft[1], 3), 0.245);
  EXPECT_EQ(rounded(soft[2], 3), 0.090);
}

Array normal(random::Generator& generator, Shape shape, DType dtype) {
  Array array(dtype, std::move(shape));
  for (std::int64_t i = 0; i < array.size(); ++i) array.set(i, generator.normal());
  return array;
}

// Product of X [n, d] and W [d, d] in double: the lesson's X @ W.
Array times(const Array& x, const TensorView& w) {
  const std::int64_t n = x.shape()[0], d = x.shape()[1];
  Array product(x.dtype(), x.shape());
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t c = 0; c < d; ++c) {
      double sum = 0;
      for (std::int64_t r = 0; r < d; ++r) sum += x[i * d + r] * load_double(w, r * d + c);
      product.set(i * d + c, sum);
    }
  }
  return product;
}

// "Without positions, attention treats its tokens as a set": 5 tokens, perm [3, 0, 4, 1, 2].
TEST_P(Lesson, PermutationEquivariance) {
  random::Generator generator(0);
  const Array x = normal(generator, {5, 4}, DType::kFloat64);
  const Array w = normal(generator, {3, 4, 4}, DType::kFloat64);
  const std::int64_t perm[] = {3, 0, 4, 1, 2};
  Array permuted(DType::kFloat64, {5, 4});
  for (std::int64_t i = 0; i < 20; ++i) permuted.set(i, x[perm[i / 4] * 4 + i % 4]);
  const auto self_attention = [&](const Array& tokens) {
    std::vector<Array> qkv;
    for (std::int64_t n = 0; n < 3; ++n) {
      TensorView matrix(static_cast<const double*>(w.view().data) + 16 * n, {4, 4});
      qkv.push_back(array({5, 4}, times(tokens, matrix).values()));
    }
    return attend(setting(), qkv[0], qkv[1], qkv[2]).out;
  };
  const Array plain = self_attention(x), shuffled = self_attention(permuted);
  for (std::int64_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(shuffled[i], plain[perm[i / 4] * 4 + i % 4],
                setting().tolerance() * std::max(1.0, std::abs(shuffled[i])));
  }
  // A causal mask gives the places a meaning.
  AttentionOptions causal = widened({});
  causal.causal = true;
  EXPECT_NE(
      attention({x, x, x}, causal, setting().execution()).data<double>()[0],
      attention({permuted, permuted, permuted}, causal, setting().execution()).data<double>()[4]);
}

// "If the entries are independent random numbers with spread 1, their dot product has spread
// sqrt(d_k)": 10,000 pairs of 64 numbers from default_rng(0). Each pair is a head of its own.
TEST_P(Lesson, ScaleKeepsTheSpread) {
  if (dtype() != DType::kFloat64 && dtype() != DType::kFloat32) {
    GTEST_SKIP() << "the lesson's numbers are for inputs that are not rounded";
  }
  random::Generator generator(0);
  const Array q = normal(generator, {10000, 1, 64}, dtype());
  const Array k = normal(generator, {10000, 1, 64}, dtype());
  const Array v = array({10000, 1, 1}, {0});
  const auto spread = [&](const AttentionOptions& options) {
    const std::vector<double> scores = attend(setting(), q, k, v, options).lse.values();
    double mean = 0, square = 0;
    for (double s : scores) mean += s / 10000;
    for (double s : scores) square += (s - mean) * (s - mean) / 10000;
    return std::sqrt(square);
  };
  EXPECT_EQ(rounded(spread(unscaled()), 2), 8.08);
  EXPECT_EQ(rounded(spread({}), 2), 1.01);  // by default the scale is 1 / sqrt(64)
}

// "The original transformer used tokens of 512 numbers and 8 heads with keys of 64 numbers": heads
// split from and joined to tokens by strides alone.
TEST_P(Lesson, MultiHead) {
  const std::int64_t n = 6, heads = 8, d = 64;
  const Array x = scrambled(dtype(), {n, heads * d}, 1);
  const auto head_views = [&](const TensorView& tokens) {
    TensorView view = tokens;
    view.rank = 3;
    view.extents = {heads, n, d};
    view.strides = {d, heads * d, 1};
    return view;
  };
  Array joined(setting().result_type(), {n, heads * d});
  AttentionOutputs outputs;
  outputs.out = joined.view();
  outputs.out.rank = 3;
  outputs.out.extents = {heads, n, d};
  outputs.out.strides = {d, heads * d, 1};
  const TensorView split = head_views(x);
  attention({split, split, split}, outputs, widened({}), setting().execution());
  for (std::int64_t h = 0; h < heads; ++h) {
    const TensorView head = x.view().slice(1, h * d, (h + 1) * d);
    const Array alone = attend(setting(), head, head, head).out;
    for (std::int64_t i = 0; i < n * d; ++i) {
      EXPECT_EQ(joined[i / d * heads * d + h * d + i % d], alone[i]);
    }
  }
}

}  // namespace
}  // namespace qkv::test
