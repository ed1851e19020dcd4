// Faults of other attention implementations in the scores: scale, softcap, ALiBi, bias, sinks. One
// column (d = 1).
#include "api/attention_test_util.h"

namespace qkv::test {
namespace {

class Scores : public SettingTest {};
INSTANTIATE_TEST_SUITE_P(AllKernels, Scores, ::testing::ValuesIn(all_settings()), setting_name);

// tenstorrent/tt-metal #42694: the scale is applied to the mask as well.
TEST_P(Scores, ScaleDoesNotReachTheBias) {
  AttentionOptions options;
  const Array bias = array({1, 2}, {0, -2});
  options.bias = bias;
  for (double scale : {.125, 0.0, -3.0}) {
    options.scale = scale;
    const Results r = attend(setting(), column({0}), column({1, 1}), column({0, 1}), options);
    near(r.out, {sigmoid(-2)});  // .1192029
  }
}

TEST_P(Scores, ScaleOfZeroAndBelow) {
  AttentionOptions options;
  options.scale = 0.0;
  near(attend(setting(), column({5}), column({0, 1}), column({0, 1}), options).out, {.5});
  options.scale = -1.0;
  near(attend(setting(), column({1}), column({0, 1}), column({0, 1}), options).out, {sigmoid(-1)});
}

TEST_P(Scores, SoftcapComesAfterTheScaleAndBeforeTheBias) {
  AttentionOptions options;
  options.scale = 0.5;
  options.softcap = 2.0f;
  const Array bias = array({1, 2}, {0, 1});
  options.bias = bias;
  const Results r = attend(setting(), column({4}), column({3, -1}), column({1, 0}), options);
  const double s0 = 2 * std::tanh(3.0), s1 = 2 * std::tanh(-1.0) + 1;
  near(r.out, {sigmoid(s0 - s1)});
  near(r.lse, {s0 + std::log1p(std::exp(s1 - s0))});
}

// ml-explore/mlx #343, PR #3071; huggingface/transformers PR #28380.
TEST_P(Scores, AlibiIsMinusSlopeTimesDistance) {
  AttentionOptions options = unscaled();
  options.alibi_slopes = {0.5f, 0.25f};
  const Array q = array({2, 2, 1}, {0}), k = array({2, 4, 1}, {0}), v = array({2, 4, 1}, {1});
  const Results r = attend(setting(), q, k, v, options);
  std::vector<double> expected;  // queries sit at positions 2 and 3, the last of the keys
  for (double slope : {0.5, 0.25}) {
    for (int position : {2, 3}) {
      double sum = 0;
      for (int j = 0; j < 4; ++j) sum += std::exp(-slope * std::abs(position - j));
      for (int j = 0; j < 4; ++j)
        expected.push_back(std::exp(-slope * std::abs(position - j)) / sum);
    }
  }
  near(r.weights, expected);
}

// A sink is in the softmax's sum, not in that of the values.
TEST_P(Scores, SinkTakesAShareOfTheWeight) {
  AttentionOptions options;
  options.scale = 2.0;  // does not touch the sink
  options.sinks = {1.0f, -std::numeric_limits<float>::infinity()};
  const Array q = array({2, 1, 1}, {1}), k = array({2, 2, 1}, {0, 1, 0, 1});
  const Array v = array({2, 2, 1}, {4, 8, 4, 8});
  const Results r = attend(setting(), q, k, v, options);
  const double with = 1 + std::exp(2) + std::exp(1), without = 1 + std::exp(2);
  near(r.out, {(4 + 8 * std::exp(2)) / with, (4 + 8 * std::exp(2)) / without});
  near(r.lse, {std::log(with), std::log(without)});
  near(r.weights, {1 / with, std::exp(2) / with, 1 / without, std::exp(2) / without});
}

// Scores of 200 apart: no overflow, and the small weight is +0 rather than a subnormal.
TEST_P(Scores, ScoresFarApart) {
  const Results r =
      attend(setting(), column({1}), column({200, 0, -200}), column({1, 2, 3}), unscaled());
  EXPECT_EQ(r.out[0], 1.0);
  EXPECT_EQ(r.weights[0], 1.0);
  EXPECT_EQ(r.lse[0], 200.0);
  EXPECT_EQ(attend(setting(), column({-100}), column({100}), column({7}), unscaled()).out[0], 7.0);
}

}  // namespace
}  // namespace qkv::test
