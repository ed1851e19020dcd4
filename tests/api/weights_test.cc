// Attention weights, accuracy and determinism, after public reports about other implementations.
#include "api/attention_test_util.h"

namespace qkv::test {
namespace {

class WeightFaults : public SettingTest {};
INSTANTIATE_TEST_SUITE_P(AllKernels, WeightFaults, ::testing::ValuesIn(all_settings()),
                         setting_name);

// pytorch/pytorch #124464, #33360; Dao-AILab/flash-attention #902, #1357.
TEST_P(WeightFaults, ShapeIsExactAndRowsSumToOne) {
  const Results r =
      attend(setting(), column({0, 0, 0}), column({0, 0, 0, 0}), column({1, 2, 3, 4}), unscaled());
  EXPECT_EQ(r.weights.shape(), (Shape{3, 4}));
  near(r.weights, std::vector<double>(12, .25));
  near(r.out, {2.5, 2.5, 2.5});
}

// pytorch/pytorch #47583, #34537; facebookresearch/fairseq #3365: only the head average.
TEST_P(WeightFaults, EachHeadHasItsOwn) {
  const Array q = array({2, 1, 1}, {1}), k = array({2, 2, 1}, {60, 0, 0, 60});
  const Results r = attend(setting(), q, k, array({2, 2, 1}, {0}), unscaled());
  expect_near(r.weights.values(), {1, 0, 0, 1}, 1e-20);
}

// huggingface/transformers #33996, #2887: some heads and rows only.
TEST_P(WeightFaults, ChosenHeadsAndRowsHaveTheBitsOfTheWhole) {
  const Array q = scrambled(dtype(), {2, 4, 70, 8}, 1), k = scrambled(dtype(), {2, 2, 90, 8}, 2);
  const Array v = scrambled(dtype(), {2, 2, 90, 3}, 3);
  AttentionOptions options = widened({});
  options.causal = true;
  options.query_lengths = {70, 60};
  const Array all = attend(setting(), q, k, v, options).weights;
  Array some(setting().result_type(), {2, 3, 4, 90});
  fill_with_junk(some);
  AttentionOutputs outputs;
  outputs.weights = some;
  outputs.selection.heads = {3, 0, 3};
  outputs.selection.rows = {69, 0, 31, 31};
  attention({q, k, v}, outputs, options, setting().execution());
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t h = 0; h < 3; ++h) {
      for (std::int64_t r = 0; r < 4; ++r) {
        for (std::int64_t j = 0; j < 90; ++j) {
          const std::int64_t head = outputs.selection.heads[static_cast<std::size_t>(h)];
          const std::int64_t row = outputs.selection.rows[static_cast<std::size_t>(r)];
          ASSERT_EQ(some[((b * 3 + h) * 4 + r) * 90 + j], all[((b * 4 + head) * 70 + row) * 90 + j])
              << b << " " << head << " " << row << " " << j;
        }
      }
    }
  }
}

// vllm-project/vllm PR #2368; antirez/h3.c #3; ml-explore/mlx PR #3119: bfloat16 midway.
TEST_P(WeightFaults, ManyEqualKeysGiveExactlyTheirValue) {
  for (std::int64_t length : {300, 1000, 4096}) {
    const Results r =
        attend(setting(), column({1}), array({length, 1}, {1}), array({length, 1}, {1}));
    EXPECT_EQ(r.out[0], 1.0) << length;
    EXPECT_NEAR(r.lse[0], 1 + std::log(static_cast<double>(length)), 1e-6) << length;
  }
}

TEST_P(WeightFaults, TheScaledQueryIsNotRounded) {
  const Array q = array({1, 128}, {1.0078125}), k = array({1, 128}, {8});
  const Results r = attend(setting(), q, k, column({1}));
  EXPECT_NEAR(r.lse[0], 1032 / std::sqrt(128.0), 1e-5);  // 91.21677; a rounded query gives 91.0
}

// ---- Determinism --------------------------------------------------------------------------------

// flash-attention #414, #429; mlx #3573; PriorLabs/TabPFN #800; ggml-org/llama.cpp #4479.
class Determinism : public SettingTest {
 protected:
  Bits run(const TensorView& q, const TensorView& k, const TensorView& v,
           const AttentionOptions& options, int threads) {
    Shape shape(q.extents.begin(), q.extents.begin() + q.rank);
    Array out(setting().result_type(), shape);
    fill_with_junk(out);
    AttentionOutputs outputs;
    outputs.out = out;
    attention({q, k, v}, outputs, widened(options), setting().execution(threads));
    return out.bytes();
  }
};
INSTANTIATE_TEST_SUITE_P(AllKernels, Determinism, ::testing::ValuesIn(all_settings()),
                         setting_name);

TEST_P(Determinism, RunsThreadsAndBatchDoNotChangeABit) {
  const Array q = scrambled(dtype(), {4, 3, 129, 32}, 4),
              k = scrambled(dtype(), {4, 3, 129, 32}, 5);
  const Array v = scrambled(dtype(), {4, 3, 129, 32}, 6);
  const auto all = run(q, k, v, {}, 1);
  for (int repeat = 0; repeat < 20; ++repeat) {
    ASSERT_EQ(run(q, k, v, {}, 1 + repeat % 4), all) << repeat;
  }
  const std::size_t entry = all.size() / 4;
  for (std::int64_t b = 0; b < 4; ++b) {
    const auto alone = run(q.view().slice(0, b, b + 1), k.view().slice(0, b, b + 1),
                           v.view().slice(0, b, b + 1), {}, 2);
    EXPECT_EQ(std::memcmp(alone.data(), all.data() + static_cast<std::size_t>(b) * entry, entry),
              0);
  }
}

TEST_P(Determinism, ARowDoesNotDependOnTheOthers) {
  const Array q = scrambled(dtype(), {100, 16}, 7), k = scrambled(dtype(), {1300, 16}, 8);
  const Array v = scrambled(dtype(), {1300, 16}, 9);
  AttentionOptions options;
  options.causal = true;
  options.query_offset = {1250};
  const auto all = run(q, k, v, options, 1);
  const std::size_t row = all.size() / 100;
  for (std::int64_t count = 1; count <= 12; ++count) {
    const auto first = run(q.view().slice(0, 0, count), k, v, options, 1);
    ASSERT_EQ(std::memcmp(first.data(), all.data(), row), 0) << count;
  }
  // Chunks of queries, and each query against the keys it sees only (decode).
  for (std::int64_t begin : {0, 1, 37, 99}) {
    options.query_offset = {1250 + begin};
    const auto rest = run(q.view().slice(0, begin, 100), k, v, options, 2);
    const std::byte* expected = all.data() + static_cast<std::size_t>(begin) * row;
    ASSERT_EQ(std::memcmp(rest.data(), expected, rest.size()), 0) << begin;
    const std::int64_t keys = std::min<std::int64_t>(1300, 1251 + begin);
    const auto one = run(q.view().slice(0, begin, begin + 1), k.view().slice(0, 0, keys),
                         v.view().slice(0, 0, keys), options, 1);
    ASSERT_EQ(std::memcmp(one.data(), expected, row), 0) << begin;
  }
}

// A packed sequence has the bits it has alone, whatever its neighbours are.
TEST_P(Determinism, APackedSequenceIsTheSequenceAlone) {
  const Array q = scrambled(dtype(), {90, 2, 8}, 10), k = scrambled(dtype(), {120, 1, 8}, 11);
  const Array v = scrambled(dtype(), {120, 1, 8}, 12);
  AttentionOptions packed;
  packed.causal = true;
  packed.query_cu_seqlens = {0, 3, 3, 53, 90};
  packed.key_cu_seqlens = {0, 70, 75, 80, 120};
  Array out(setting().result_type(), {90, 2, 8});
  AttentionOutputs outputs;
  outputs.out = out;
  attention({q, k, v}, outputs, widened(packed), setting().execution());
  for (std::size_t b = 0; b < 4; ++b) {
    const std::int64_t q0 = packed.query_cu_seqlens[b], q1 = packed.query_cu_seqlens[b + 1];
    const std::int64_t k0 = packed.key_cu_seqlens[b], k1 = packed.key_cu_seqlens[b + 1];
    AttentionOptions alone;
    alone.causal = true;
    const auto heads_first = [](const TensorView& view) { return view.transposed(0, 1); };
    Array one(setting().result_type(), {2, q1 - q0, 8});
    AttentionOutputs one_output;
    one_output.out = one;
    attention({heads_first(q.view().slice(0, q0, q1)), heads_first(k.view().slice(0, k0, k1)),
               heads_first(v.view().slice(0, k0, k1))},
              one_output, widened(alone), setting().execution());
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t i = 0; i < q1 - q0; ++i) {
        for (std::int64_t c = 0; c < 8; ++c) {
          ASSERT_EQ(out[((q0 + i) * 2 + h) * 8 + c], one[(h * (q1 - q0) + i) * 8 + c])
              << "sequence " << b << " head " << h << " row " << i;
        }
      }
    }
  }
}

// ---- Memory -------------------------------------------------------------------------------------

// huggingface/transformers #9387; Comfy-Org/ComfyUI PR #15135: memory grows with n squared.
TEST(Memory, WorkspaceIsFarBelowOneTableOfScores) {
  const auto workspace = [](std::int64_t heads, std::int64_t key_heads, std::int64_t length) {
    // Never read: strides of 0 let one element stand for all.
    static float element;
    TensorView q(&element, {1, heads, length, 64}), k(&element, {1, key_heads, length, 64});
    q.strides = k.strides = {};
    std::vector<float> out(static_cast<std::size_t>(heads * length * 64));
    AttentionOutputs outputs;
    outputs.out = MutableTensorView(out.data(), {1, heads, length, 64});
    ExecutionOptions execution;
    execution.threads = 2;
    return AttentionPlan({q, k, k}, outputs, {}, execution).description().workspace_bytes;
  };
  const std::size_t one_table = std::size_t{4} * 4096 * 4096;
  EXPECT_LT(workspace(32, 8, 4096), one_table / 16);
  EXPECT_LT(workspace(1, 1, 16384), 16 * one_table / 64);
  // Not proportional to the heads, and about linear in the length.
  EXPECT_LE(workspace(32, 8, 4096), 2 * workspace(8, 8, 4096));
  EXPECT_LE(workspace(8, 8, 8192), 3 * workspace(8, 8, 4096));
}

TEST(Memory, ChosenWeightsCostTheirShare) {
  static float element;
  TensorView q(&element, {1, 32, 4096, 64});
  q.strides = {};
  std::vector<float> weights(8 * 4096);
  AttentionOutputs outputs;
  outputs.weights = MutableTensorView(weights.data(), {1, 1, 8, 4096});
  outputs.selection = {{5}, {0, 1, 2, 3, 4, 5, 6, 7}};
  const AttentionPlan plan({q, q, q}, outputs);
  EXPECT_EQ(plan.description().weights_bytes, std::size_t{4} * 8 * 4096);
}

}  // namespace
}  // namespace qkv::test
