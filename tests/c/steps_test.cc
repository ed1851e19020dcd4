// The steps of a row in C: those of the C++ library, as flat arrays.
#include "qkv/steps.h"

#include <qkv_learn.h>

#include <cstring>
#include <vector>

#include "c/in_c.h"
#include "qkv/random.h"

namespace qkv::test {
namespace {

template <class T>
std::vector<T> array(const T* data, std::int64_t count) {
  return count == 0 ? std::vector<T>() : std::vector<T>(data, data + count);
}

// Bits: NaN too would have to be the same one.
template <class T>
void expect_same(const T* data, const std::vector<T>& expected, const char* what) {
  const std::vector<T> got = array(data, static_cast<std::int64_t>(expected.size()));
  ASSERT_EQ(got.size(), expected.size());
  EXPECT_EQ(expected.empty() ? 0 : std::memcmp(got.data(), expected.data(), sizeof(T) * got.size()),
            0)
      << what;
}

class CSteps : public ::testing::Test {
 protected:
  CSteps() {
    random::Generator generator(3);
    for (auto* numbers : {&q_, &k_, &v_}) {
      for (float& x : *numbers) x = static_cast<float>(generator.normal());
    }
    options_.causal = true;
    options_.sinks = {0.5f, -1.0f};
    options_.mask_mod = mask_mod([](std::int64_t, std::int64_t, std::int64_t p, std::int64_t j) {
      return (p + j) % 3 != 0;
    });
    inputs_ = {{q_.data(), {2, 3, 4}}, {k_.data(), {2, 2200, 4}}, {v_.data(), {2, 2200, 3}}};
  }
  std::vector<float> q_ = std::vector<float>(2 * 3 * 4), k_ = std::vector<float>(2 * 2200 * 4),
                     v_ = std::vector<float>(2 * 2200 * 3);
  AttentionInputs inputs_;
  AttentionOptions options_;
};

TEST_F(CSteps, AreThoseOfTheCppLibrary) {
  const RowSteps expected = row_steps(inputs_, {0, 1, 2}, options_);
  const InC c(inputs_, {}, options_);
  qkv_steps* steps = nullptr;
  EXPECT_OK(qkv_steps_of(&c.inputs, &c.options, 0, 1, 2, &steps));
  qkv_steps_description d;
  qkv_steps_description_init(&d);
  EXPECT_OK(qkv_steps_describe(steps, &d));

  EXPECT_EQ(d.sequence, expected.sequence);
  EXPECT_EQ(d.position, expected.position);
  EXPECT_EQ(d.has_sink, 1);
  EXPECT_EQ(d.sink, -1.0f);
  EXPECT_EQ(d.keys_max, expected.all_keys.max);
  EXPECT_EQ(d.keys_sum, expected.all_keys.sum);
  EXPECT_EQ(d.final_max, expected.final_state.max);
  EXPECT_EQ(d.final_sum, expected.final_state.sum);
  EXPECT_EQ(d.lse, expected.lse);
  EXPECT_EQ(d.d_v, 3);
  ASSERT_EQ(d.key_count, 2200);
  ASSERT_EQ(d.block_count, 69);
  ASSERT_EQ(d.merge_count, 2);
  expect_same(d.keys_values, expected.all_keys.accumulator, "keys_values");
  expect_same(d.final_values, expected.final_state.accumulator, "final_values");
  expect_same(d.out, expected.out, "out");

  for (std::int64_t n = 0; n < d.key_count; ++n) {
    const KeyStep& key = expected.keys[static_cast<std::size_t>(n)];
    EXPECT_EQ(d.key_index[n], key.key);
    EXPECT_EQ(d.key_row[n], key.row);
    EXPECT_EQ(d.key_live[n], key.live ? 1 : 0);
    EXPECT_EQ(d.key_dot[n], key.dot);
    EXPECT_EQ(d.key_score[n], key.score);
    EXPECT_EQ(d.key_block_exp[n], key.block_exp);
    EXPECT_EQ(d.key_weight[n], key.weight);
  }
  for (std::int64_t n = 0; n < d.block_count; ++n) {
    const BlockStep& block = expected.blocks[static_cast<std::size_t>(n)];
    EXPECT_EQ(d.block_first_key[n], block.first_key);
    EXPECT_EQ(d.block_end_key[n], block.end_key);
    EXPECT_EQ(d.block_span[n], block.span);
    EXPECT_EQ(d.block_max_before[n], block.max_before);
    EXPECT_EQ(d.block_max_after[n], block.after.max);
    EXPECT_EQ(d.block_rescale[n], block.rescale);
    EXPECT_EQ(d.block_sum[n], block.block_sum);
    EXPECT_EQ(d.running_sum[n], block.after.sum);
    expect_same(d.block_values + 3 * n, block.block_values, "block_values");
    expect_same(d.running_values + 3 * n, block.after.accumulator, "running_values");
  }
  for (std::int64_t n = 0; n < d.merge_count; ++n) {
    const MergeStep& merge = expected.merges[static_cast<std::size_t>(n)];
    EXPECT_EQ(array(d.merge_spans + 3 * n, 3),
              (std::vector{merge.first_span, merge.middle_span, merge.end_span}));
    const SoftmaxState* states[] = {&merge.first, &merge.second, &merge.merged};
    for (std::int64_t node = 0; node < 3; ++node) {
      EXPECT_EQ(d.merge_max[3 * n + node], states[node]->max);
      EXPECT_EQ(d.merge_sum[3 * n + node], states[node]->sum);
      expect_same(d.merge_values + 9 * n + 3 * node, states[node]->accumulator, "merge_values");
    }
  }
  qkv_steps_destroy(steps);
  qkv_steps_destroy(nullptr);
}

// The worked example, as a page reads it: numbers printed in the lesson.
TEST_F(CSteps, OfTheWorkedExample) {
  const float q[] = {1, 2}, k[] = {1, 0, 0, 1, 1, 1}, v[] = {10, 0, 0, 10, 5, 5};
  const InC c({{q, {1, 2}}, {k, {3, 2}}, {v, {3, 2}}}, {});
  qkv_steps* steps = nullptr;
  EXPECT_OK(qkv_steps_of(&c.inputs, nullptr, 0, 0, 0, &steps));
  qkv_steps_description d;
  qkv_steps_description_init(&d);
  EXPECT_OK(qkv_steps_describe(steps, &d));
  ASSERT_EQ(d.key_count, 3);
  EXPECT_EQ(array(d.key_dot, 3), (std::vector<float>{1, 2, 3}));
  const double weights[] = {0.140, 0.284, 0.576};
  for (int j = 0; j < 3; ++j) EXPECT_NEAR(d.key_weight[j], weights[j], 0.0005);
  EXPECT_NEAR(d.out[0], 4.28, 0.005);
  EXPECT_NEAR(d.out[1], 5.72, 0.005);
  EXPECT_EQ(d.has_sink, 0);
  EXPECT_EQ(d.merge_count, 0);
  qkv_steps_destroy(steps);
}

TEST_F(CSteps, Failures) {
  const InC c(inputs_, {}, options_);
  qkv_steps* steps = reinterpret_cast<qkv_steps*>(&steps);
  EXPECT_FAILS(qkv_steps_of(&c.inputs, &c.options, 1, 0, 0, &steps), QKV_INVALID_ARGUMENT,
               "batch: 1");
  EXPECT_EQ(steps, nullptr);
  EXPECT_FAILS(qkv_steps_of(&c.inputs, &c.options, 0, 2, 0, &steps), QKV_INVALID_ARGUMENT,
               "head: 2");
  EXPECT_FAILS(qkv_steps_of(&c.inputs, &c.options, 0, 0, -1, &steps), QKV_INVALID_ARGUMENT,
               "row: -1");
  EXPECT_FAILS(qkv_steps_of(nullptr, nullptr, 0, 0, 0, &steps), QKV_INVALID_ARGUMENT, "inputs");
  EXPECT_FAILS(qkv_steps_of(&c.inputs, nullptr, 0, 0, 0, nullptr), QKV_INVALID_ARGUMENT, "steps");
  qkv_steps_description d;
  qkv_steps_description_init(&d);
  EXPECT_FAILS(qkv_steps_describe(nullptr, &d), QKV_INVALID_ARGUMENT, "steps");
  EXPECT_OK(qkv_steps_of(&c.inputs, nullptr, 0, 0, 0, &steps));
  EXPECT_FAILS(qkv_steps_describe(steps, nullptr), QKV_INVALID_ARGUMENT, "description");
  d.struct_size = 0;
  EXPECT_FAILS(qkv_steps_describe(steps, &d), QKV_INVALID_ARGUMENT, "struct_size");
  qkv_steps_destroy(steps);

  qkv_attention_options failing;
  qkv_attention_options_init(&failing);
  failing.score_mod = [](void*, const qkv_score_tile*) -> std::int32_t { return 9; };
  EXPECT_FAILS(qkv_steps_of(&c.inputs, &failing, 0, 0, 0, &steps), QKV_CALLBACK_FAILED, "9");
  EXPECT_EQ(steps, nullptr);
}

}  // namespace
}  // namespace qkv::test
