// Faults of other attention implementations, as their users reported them: masks, values, ranges.
// Each test names the public threads, owner/repository #number. One column (d = 1) unless said.
#include "api/attention_test_util.h"

namespace qkv::test {
namespace {

class Faults : public SettingTest {};
INSTANTIATE_TEST_SUITE_P(AllKernels, Faults, ::testing::ValuesIn(all_settings()), setting_name);

// ---- Rows without a key -------------------------------------------------------------------------

// pytorch/pytorch #103749, #103963; ml-explore/mlx PR #2608: a padding row comes back as NaN.
TEST_P(Faults, RowWithoutKeysIsZeroByBoolMask) {
  AttentionOptions options = unscaled();
  const Array mask = bools({2, 2}, {1, 1, 0, 0});
  options.mask = mask;
  const Results r = attend(setting(), column({1, 1}), column({1, 2}), column({10, 20}), options);
  near(r.out, {10 + 10 * sigmoid(1), 0});              // 17.3105858
  near(r.lse, {2 + std::log1p(std::exp(-1)), -kInf});  // 2.3132617
  near(r.weights, {sigmoid(-1), sigmoid(1), 0, 0});    // .2689414, .7310586
}

TEST_P(Faults, RowWithoutKeysIsZeroByInfiniteBias) {
  AttentionOptions options = unscaled();
  const Array bias(setting().result_type(), {2, 2}, {0, 0, -kInf, -kInf});
  for (bool as_mask : {false, true}) {  // a float mask is the bias
    options.bias = as_mask ? TensorView() : bias.view();
    options.mask = as_mask ? bias.view() : TensorView();
    const Results r = attend(setting(), column({1, 1}), column({1, 2}), column({10, 20}), options);
    near(r.out, {10 + 10 * sigmoid(1), 0});
    near(r.lse, {2 + std::log1p(std::exp(-1)), -kInf});
    near(r.weights, {sigmoid(-1), sigmoid(1), 0, 0});
  }
}

TEST_P(Faults, CausalAndPaddingEmptyARowOnlyTogether) {
  AttentionOptions options = unscaled();
  options.causal = true;
  const Array mask = bools({2}, {0, 1});  // key 0 is padding
  options.mask = mask;
  const Results r = attend(setting(), column({1, 1}), column({1, 2}), column({10, 20}), options);
  near(r.out, {0, 20});
  near(r.lse, {-kInf, 2});
  near(r.weights, {0, 0, 0, 1});
}

TEST_P(Faults, RowWithoutKeysHasTheSinkAsItsLse) {
  AttentionOptions options = unscaled();
  const Array mask = bools({1, 2}, {0, 0});
  options.mask = mask;
  options.sinks = {1.5f};
  const Results r = attend(setting(), column({1}), column({1, 2}), column({10, 20}), options);
  near(r.out, {0});
  near(r.lse, {1.5});
  near(r.weights, {0, 0});
}

// pytorch/pytorch #160064: heads masked wholly give NaN as soon as weights are asked for.
TEST_P(Faults, MaskedHeadsAreTheSameWithAndWithoutWeights) {
  AttentionOptions options = unscaled();
  const Array mask = bools({3, 1, 1}, {0, 0, 1});
  options.mask = mask;
  const Array q = array({3, 5, 1}, {0}), k = array({3, 5, 1}, {0});
  const Array v = array({3, 5, 1}, {1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5});
  const Results r = attend(setting(), q, k, v, options);
  std::vector<double> out(15, 0.0), weights(75, 0.0);
  std::fill(out.begin() + 10, out.end(), 3.0);
  std::fill(weights.begin() + 50, weights.end(), 0.2);
  near(r.out, out);
  near(r.weights, weights);
}

// Dao-AILab/flash-attention #443, #1778; NVIDIA/cutlass #2336: causal, more queries than keys.
TEST_P(Faults, CausalWithMoreQueriesThanKeys) {
  AttentionOptions options = unscaled();
  options.causal = true;
  const Array q = column({0, 0, 0, 0}), k = column({1, 3}), v = column({2, 4});
  near(attend(setting(), q, k, v, options).out, {0, 0, 2, 3});
  near(attend(setting(), q, k, v, options).lse, {-kInf, -kInf, 0, std::log(2)});
  options.alignment = Alignment::kTopLeft;
  near(attend(setting(), q, k, v, options).out, {2, 3, 3, 3});
}

TEST_P(Faults, ManyQueriesAgainstThreePackedKeys) {
  AttentionOptions options;
  options.causal = true;
  options.query_cu_seqlens = {0, 100, 200, 256};
  options.key_cu_seqlens = {0, 1, 2, 3};
  const Array q = array({256, 1, 2}, {1}), k = array({3, 1, 2}, {1});
  const Array v = array({3, 1, 1}, {5, 6, 7});
  std::vector<double> expected(256, 0.0);  // only the last query of a segment has its key
  expected[99] = 5;
  expected[199] = 6;
  expected[255] = 7;
  near(attend(setting(), q, k, v, options).out, expected);
}

// ---- Numbers that stand for "masked" ------------------------------------------------------------

// huggingface/transformers PR #17306, PR #27114; pytorch/pytorch #109517; google/flax #982.
TEST_P(Faults, LowestFiniteBiasIsAnOrdinaryNumber) {
  AttentionOptions options = unscaled();
  const bool wide = dtype() == DType::kFloat64;
  const double low = wide ? std::numeric_limits<double>::lowest() : -3.4028234663852886e38;
  const Array all_low(setting().result_type(), {1, 4}, {low});
  options.bias = all_low;
  Results r = attend(setting(), column({0}), column({0, 0, 0, 0}), column({1, 2, 3, 4}), options);
  near(r.out, {2.5});
  near(r.weights, {.25, .25, .25, .25});
  near(r.lse, {low});  // ln 4 is far below half a unit in the last place

  const Array some(setting().result_type(), {1, 3}, {low, -kInf, low});
  options.bias = some;
  r = attend(setting(), column({0}), column({0, 0, 0}), column({1, 50, 3}), options);
  near(r.out, {2});
  near(r.weights, {.5, 0, .5});
}

TEST_P(Faults, LowestHalfBiasOnNegativeScores) {
  AttentionOptions options = unscaled();
  const Array bias = array({1, 2}, {-65504});  // float16's lowest; other types round it alike
  options.bias = bias;
  const Results r = attend(setting(), column({-4}), column({4, 4}), column({1, 3}), options);
  near(r.out, {2});
  near(r.weights, {.5, .5});
}

// ohdearquant/lattice #361: a masked key wins when the real scores are very low.
TEST_P(Faults, MaskedKeyNeverWins) {
  AttentionOptions options = unscaled();
  const Array mask = bools({1, 2}, {1, 0});
  options.mask = mask;
  const Array q = column({-19968});  // in all types
  const Results r = attend(setting(), q, column({1, 0}), column({1, 100}), options);
  EXPECT_EQ(r.out[0], 1.0);
  EXPECT_EQ(r.weights.values(), (std::vector<double>{1, 0}));
  EXPECT_EQ(r.lse[0], -19968.0);
}

// ---- NaN and infinity ---------------------------------------------------------------------------

// pytorch/pytorch #141128: a NaN in a live input is silently turned into zeros.
TEST_P(Faults, NaNInAQueryReachesItsRowOnly) {
  const Results r =
      attend(setting(), column({kNaN, 0}), column({0, 0}), column({1, 3}), unscaled());
  near(r.out, {kNaN, 2});
  near(r.lse, {kNaN, std::log(2)});
  near(r.weights, {kNaN, kNaN, .5, .5});
}

TEST_P(Faults, NaNInAValueReachesItsColumnOnly) {
  const Array v = array({2, 3}, {1, kNaN, 2, 3, 5, 4});
  const Results r = attend(setting(), column({0}), column({0, 0}), v, unscaled());
  near(r.out, {2, kNaN, 3});
  near(r.lse, {std::log(2)});
}

// Rows 0 to 5 may not see the NaN that rows 6 to 11 see: both kinds share a tile.
TEST_P(Faults, NaNInAValueReachesOnlyRowsThatSeeIt) {
  AttentionOptions options = unscaled();
  std::vector<double> mask(24, 1.0), expected(12, 1.0);
  for (std::size_t row = 0; row < 6; ++row) mask[2 * row + 1] = 0;
  for (std::size_t row = 6; row < 12; ++row) expected[row] = kNaN;
  const Array live = bools({12, 2}, mask);
  options.mask = live;
  for (double bad : {kNaN, kInf, -kInf}) {
    // A row that sees the infinity has it in its sum.
    for (std::size_t row = 6; row < 12; ++row) expected[row] = bad;
    const Results r =
        attend(setting(), array({12, 1}, {0}), column({0, 0}), column({1, bad}), options);
    near(r.out, expected);
  }
}

TEST_P(Faults, NaNInALiveKeyReachesEveryRowAtAnyLength) {
  for (std::int64_t length : {3, 70, 1500}) {
    Array k = array({length, 1}, {0});
    k.set(length / 2, kNaN);
    const Results r = attend(setting(), column({0, 1}), k, array({length, 1}, {1}), unscaled());
    near(r.out, {kNaN, kNaN});
    near(r.lse, {kNaN, kNaN});
  }
}

// 0 * Inf is NaN: a live key takes part even if its weight is +0.
TEST_P(Faults, InfiniteValueOfALiveKeyWithWeightZero) {
  const Array q = column({4096}), k = column({0, -2});
  near(attend(setting(), q, k, column({1, kInf}), unscaled()).out, {kNaN});
  near(attend(setting(), q, k, column({1, 2}), unscaled()).out, {1});
}

TEST_P(Faults, InfiniteBiasPropagatesAsIeeeSays) {
  AttentionOptions options = unscaled();
  const Array bias(setting().result_type(), {2, 2}, {0, kInf, 0, 0});
  options.bias = bias;
  const Results r = attend(setting(), column({0, 0}), column({0, 0}), column({1, 3}), options);
  near(r.out, {kNaN, 2});  // Inf - Inf
  near(r.lse, {kNaN, std::log(2)});
}

// NaN bits differ between CPUs, so that results have one NaN; and -0 is never a result, here that
// of half the smallest number below 0.
TEST_P(Faults, ResultsHaveOneNaNAndNoNegativeZero) {
  const std::int64_t d_v = 40;  // whole vectors and a rest
  const double smallest = dtype() == DType::kFloat64    ? 0x1p-1074
                          : dtype() == DType::kFloat32  ? 0x1p-149
                          : dtype() == DType::kBFloat16 ? 0x1p-133
                                                        : 0x1p-24;
  const std::uint64_t nan = dtype() == DType::kFloat64    ? 0x7ff8000000000000
                            : dtype() == DType::kFloat32  ? 0x7fc00000
                            : dtype() == DType::kBFloat16 ? 0x7fc0
                                                          : 0x7e00;
  Array v(dtype(), {2, d_v});
  for (std::int64_t c = 0; c < d_v; ++c) v.set(c, -smallest);
  EXPECT_EQ(v[0], -smallest);
  const Array k = column({0, 0});
  for (std::int64_t rows : {2, 60}) {
    Array q(dtype(), {rows, 1}), out(dtype(), {rows, d_v});
    q.set(0, kNaN);
    fill_with_junk(out);
    AttentionOutputs outputs;
    outputs.out = out;
    attention({q, k, v}, outputs, widened(unscaled()), setting().execution());
    const std::size_t size = size_of(dtype());
    for (std::int64_t i = 0; i < out.size(); ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, out.bytes().data() + static_cast<std::size_t>(i) * size, size);
      ASSERT_EQ(bits, i < d_v ? nan : 0) << "row " << i / d_v << " of " << rows;
    }
  }
}

// philipturner/metal-flash-attention #8; huggingface/transformers PR #33317.
TEST_P(Faults, LargeHalfPrecisionDotProducts) {
  std::vector<double> keys(256, 32.0);
  keys[255] = 31.75;
  const Results r = attend(setting(), array({1, 128}, {32}), array({2, 128}, keys), column({1, 0}));
  // Raw dot products 131072 and 131064; scores 11585.2375 and 11584.5304, a float32 apart by
  // 2^-10, which bounds the error of the difference.
  const double expected = sigmoid(8 / std::sqrt(128.0));  // .6697615
  EXPECT_NEAR(r.out[0], expected, dtype() == DType::kFloat64 ? 1e-11 : 3e-4);
}

// ---- Causal, window, lengths --------------------------------------------------------------------

// microsoft/onnxruntime #29020; pytorch/pytorch #103082; meta-pytorch/gpt-fast #233.
TEST_P(Faults, OneCausalQuerySeesTheWholeCache) {
  AttentionOptions options = unscaled();
  options.causal = true;
  const Array k = column({0, 0, 0, 0, 0}), v = column({1, 2, 3, 4, 5});
  const Results one = attend(setting(), column({0}), k, v, options);
  near(one.out, {3});
  near(attend(setting(), k, k, v, options).out, {1, 1.5, 2, 2.5, 3});
  options.alignment = Alignment::kTopLeft;
  near(attend(setting(), column({0}), k, v, options).out, {1});
  options.query_offset = {2};  // takes the place of the alignment
  near(attend(setting(), column({0}), k, v, options).out, {2});
}

// pytorch/pytorch #187801, #118972; onnx/onnx PR #8068: both are honoured.
TEST_P(Faults, CausalAndMaskIntersect) {
  AttentionOptions options = unscaled();
  options.causal = true;
  const Array mask = bools({3}, {0, 1, 1});
  options.mask = mask;
  const Array zeros = column({0, 0, 0});
  near(attend(setting(), zeros, zeros, column({1, 2, 4}), options).out, {0, 2, 3});
}

// rasbt/LLMs-from-scratch #1061; pytorch/pytorch PR #120668: true means "may attend".
TEST_P(Faults, TrueMeansMayAttend) {
  AttentionOptions options = unscaled();
  const Array mask = bools({3, 3}, {0, 1, 1, 0, 0, 1, 0, 0, 0});
  options.mask = mask;
  const Array zeros = column({0, 0, 0});
  near(attend(setting(), zeros, zeros, column({1, 2, 6}), options).out, {4, 6, 0});
}

// jax-ml/jax #23349: lengths are accepted and ignored.
TEST_P(Faults, KeyLengthsOfEachSequence) {
  AttentionOptions options = unscaled();
  options.key_lengths = {1, 4, 0};
  const Array q = array({3, 1, 1, 1}, {0}), k = array({3, 1, 4, 1}, {0});
  const Array v = array({3, 1, 4, 1}, {1, 2, 3, 6, 1, 2, 3, 6, 1, 2, 3, 6});
  const Results r = attend(setting(), q, k, v, options);
  near(r.out, {1, 3, 0});
  near(r.lse, {0, std::log(4), -kInf});
  near(r.weights, {1, 0, 0, 0, .25, .25, .25, .25, 0, 0, 0, 0});
}

TEST_P(Faults, KeyBeginAndQueryLengths) {
  AttentionOptions options = unscaled();
  options.key_begin = {1, 2};
  options.key_lengths = {2, 1};
  options.query_lengths = {2, 1};
  options.sinks = {0.0f};
  const Array q = array({2, 1, 2, 1}, {0}), k = array({2, 1, 4, 1}, {0});
  const Array v = array({2, 1, 4, 1}, {90, 3, 6, 90, 90, 90, 4, 90});
  const Results r = attend(setting(), q, k, v, options);
  near(r.out, {3, 3, 2, 0});  // the sink's share is 1/3 and 1/2; a dead row has not even a sink
  near(r.lse, {std::log(3), std::log(3), std::log(2), -kInf});
  const double third = 1.0 / 3;
  near(r.weights, {0, third, third, 0, 0, third, third, 0, 0, 0, .5, 0, 0, 0, 0, 0});
}

// huggingface/transformers #39408; apple/axlearn PR #1009: windows off by one.
TEST_P(Faults, WindowEndsAreIncluded) {
  AttentionOptions options = unscaled();
  options.causal = true;
  const Array zeros = column({0, 0, 0, 0, 0}), v = column({1, 2, 4, 8, 16});
  const std::vector<std::pair<std::int64_t, std::vector<double>>> cases = {
      {0, {1, 2, 4, 8, 16}},
      {1, {1, 1.5, 3, 6, 12}},
      {2, {1, 1.5, 7.0 / 3, 14.0 / 3, 28.0 / 3}},
      {4, {1, 1.5, 7.0 / 3, 15.0 / 4, 31.0 / 5}},
      {1000, {1, 1.5, 7.0 / 3, 15.0 / 4, 31.0 / 5}}};
  for (const auto& [left, expected] : cases) {
    options.window.left = left;
    const Results all = attend(setting(), zeros, zeros, v, options);
    near(all.out, expected, "left " + std::to_string(left));
    for (std::int64_t length = 1; length <= 5; ++length) {  // token by token: the same bits
      const Results one = attend(setting(), column({0}), zeros.view().slice(0, 0, length),
                                 v.view().slice(0, 0, length), options);
      EXPECT_EQ(one.out[0], all.out[length - 1]) << "left " << left << " length " << length;
    }
  }
  options.causal = false;
  options.window = {.left = 1, .right = 2};
  near(attend(setting(), zeros, zeros, v, options).out,
       {7.0 / 3, 15.0 / 4, 30.0 / 4, 28.0 / 3, 12});
}

// Dao-AILab/flash-attention #1745, #2374; vllm-project/vllm #641; ggml-org/llama.cpp PR #3523.
TEST_P(Faults, UnusedCacheSlotsDoNotMatter) {
  AttentionOptions by_length = unscaled(), by_mask = unscaled(), by_mask_mod = unscaled(),
                   by_begin = unscaled();
  by_length.key_lengths = {3};
  const Array mask = bools({8}, {1, 1, 1, 0, 0, 0, 0, 0});
  by_mask.mask = mask;
  by_mask_mod.mask_mod = mask_mod([](auto, auto, auto, auto j) { return j < 3; });
  by_begin.key_begin = {0};
  by_begin.key_lengths = {3};
  for (std::int64_t queries : {1, 3, 60}) {
    const Array q = array({queries, 1}, {0});
    for (const AttentionOptions& options : {by_length, by_mask, by_mask_mod, by_begin}) {
      for (double junk : {kNaN, kInf, -kInf, 3e4}) {
        const Array k = column({0, 0, 0, junk, junk, junk, junk, junk});
        const Array v = column({1, 2, 6, junk, junk, junk, junk, junk});
        const Results r = attend(setting(), q, k, v, options);
        for (std::int64_t i = 0; i < queries; ++i) EXPECT_EQ(r.out[i], 3.0) << junk;
      }
    }
  }
}

}  // namespace
}  // namespace qkv::test
