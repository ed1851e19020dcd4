// score_mod, mask_mod, block_predicate and progress: what they see, and what happens if they throw.
#include <set>
#include <stdexcept>

#include "api/attention_test_util.h"

namespace qkv::test {
namespace {

struct Thrown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Callbacks : public SettingTest {
 protected:
  // Query [2, 4, 30, 8], key and value [2, 2, 100, 8]; returns out's bits.
  Bits run(const AttentionOptions& options, ExecutionOptions execution = {}) {
    execution.isa = setting().isa;
    fill_with_junk(out_);
    AttentionOutputs outputs;
    outputs.out = out_;
    attention({q_, k_, k_}, outputs, widened(options), execution);
    return out_.bytes();
  }
  void SetUp() override {
    SettingTest::SetUp();
    q_ = scrambled(dtype(), {2, 4, 30, 8}, 1);
    k_ = scrambled(dtype(), {2, 2, 100, 8}, 2);
    out_ = Array(setting().result_type(), {2, 4, 30, 8});
  }
  Array q_, k_, out_;
};
INSTANTIATE_TEST_SUITE_P(AllKernels, Callbacks, ::testing::ValuesIn(all_settings()), setting_name);

// ---- What they see ------------------------------------------------------------------------------

TEST_P(Callbacks, ScoreModComesBetweenSoftcapAndAlibi) {
  AttentionOptions options = unscaled();
  options.softcap = 2.0f;
  options.score_mod =
      score_mod([](float s, std::int64_t b, std::int64_t h, std::int64_t p, std::int64_t j) {
        return s * 3 + static_cast<float>(b + 2 * h + 4 * p + 8 * j) / 16;
      });
  options.alibi_slopes = {.5f, .25f};
  const Array bias(setting().result_type(), {1, 3}, {0, 1, 0});
  options.bias = bias;
  const Array q = array({2, 2, 1, 1}, {1, 2, 3, -1});
  const Array k = array({2, 1, 3, 1}, {1, 0, -1, 2, 1, 0}), v = array({2, 1, 3, 1}, {0});
  if (dtype() == DType::kFloat64) {
    EXPECT_THROW(attend(setting(), q, k, v, options), Unsupported);
    return;
  }
  const Results r = attend(setting(), q, k, v, options);
  for (int b = 0; b < 2; ++b) {
    for (int h = 0; h < 2; ++h) {
      double sum = 0;
      for (int j = 0; j < 3; ++j) {
        double s = 2 * std::tanh(q[2 * b + h] * k[3 * b + j] / 2);
        s = s * 3 + (b + 2 * h + 4 * 2 + 8 * j) / 16.0;  // the one query sits at the last key
        s += (h == 0 ? -.5 : -.25) * std::abs(2 - j) + (j == 1 ? 1 : 0);
        sum += std::exp(s);
      }
      EXPECT_NEAR(r.lse[2 * b + h], std::log(sum), 3e-6) << b << " " << h;
    }
  }
}

TEST_P(Callbacks, MaskModSeesSequenceHeadPositionAndKey) {
  AttentionOptions options;
  options.query_offset = {1000, 2000};
  options.key_begin = {10, 0};
  const auto live = [](std::int64_t b, std::int64_t h, std::int64_t p, std::int64_t j) {
    return (b * 3 + h * 5 + p * 7 + j * 11) % 4 != 0;
  };
  options.mask_mod = mask_mod(live);
  const auto by_callback = run(options);
  options.mask_mod = nullptr;
  Array mask(DType::kBool, {2, 4, 30, 100});
  for (std::int64_t i = 0; i < mask.size(); ++i) {
    const std::int64_t b = i / 12000, j = i % 100 - (b == 0 ? 10 : 0);
    mask.set(i, live(b, i / 3000 % 4, i / 100 % 30 + (b == 0 ? 1000 : 2000), j));
  }
  options.mask = mask;
  EXPECT_EQ(run(options), by_callback);
}

TEST_P(Callbacks, PackedSequencesCountTheirOwnKeys) {
  AttentionOptions options;
  options.query_cu_seqlens = {0, 2, 5};
  options.key_cu_seqlens = {0, 4, 7};
  options.mask_mod = mask_mod([](std::int64_t b, std::int64_t, std::int64_t p, std::int64_t j) {
    return b == 0 ? j == p : j == 0;  // positions 2, 3 and 0, 1, 2
  });
  const Array v = array({7, 1, 1}, {0, 1, 2, 3, 4, 5, 6});
  const Results r = attend(setting(), array({5, 1, 1}, {0}), array({7, 1, 1}, {0}), v, options);
  near(r.out, {2, 3, 4, 4, 4});
}

TEST_P(Callbacks, BlockPredicateChangesNoBit) {
  AttentionOptions options;
  options.mask_mod = mask_mod([](auto, auto, auto p, auto j) { return j >= 64 || p % 2 == 0; });
  const auto plain = run(options);
  std::atomic<int> asked{0};
  options.block_predicate = [&](const MaskBlock& block) {
    ++asked;
    EXPECT_LE(block.first_position, block.last_position);
    EXPECT_LE(block.first_key, block.last_key);
    return block.first_key >= 64 ? Visibility::kVisible : Visibility::kMixed;
  };
  ExecutionOptions checked;
  checked.check_block_predicate = true;
  EXPECT_EQ(run(options), plain);
  EXPECT_EQ(run(options, checked), plain);
  if (dtype() != DType::kFloat64) {
    EXPECT_GT(asked, 0);
  }
}

TEST_P(Callbacks, WrongBlockPredicateIsFound) {
  if (dtype() == DType::kFloat64) GTEST_SKIP() << "the float64 loops ask mask_mod for every pair";
  AttentionOptions options;
  options.mask_mod = mask_mod([](auto, auto, auto, auto j) { return j != 70; });
  ExecutionOptions checked;
  checked.check_block_predicate = true;
  for (Visibility wrong : {Visibility::kHidden, Visibility::kVisible}) {
    options.block_predicate = [wrong](const MaskBlock&) { return wrong; };
    EXPECT_NO_THROW(run(options)) << "without the check it is believed";
    try {
      run(options, checked);
      ADD_FAILURE() << "not found";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), ::testing::StartsWith("block_predicate: "));
    }
  }
}

// ---- What happens if they throw -----------------------------------------------------------------

TEST_P(Callbacks, ExceptionsReachTheCallerAndTheEngineWorksAfterwards) {
  const auto expected = run({});
  const auto reaches = [&](const std::string& which, const AttentionOptions& options,
                           const ExecutionOptions& execution = {}) {
    for (int threads : {1, 4}) {
      ExecutionOptions on = execution;
      on.threads = threads;
      try {
        run(options, on);
        ADD_FAILURE() << which << " did not throw";
      } catch (const Thrown& error) {
        EXPECT_EQ(error.what(), which);
      }
      EXPECT_EQ(run({}), expected) << "after " << which;
    }
  };
  AttentionOptions options;
  options.mask_mod = [](const MaskTile&) { throw Thrown("mask_mod"); };
  reaches("mask_mod", options);
  if (dtype() != DType::kFloat64) {
    options.block_predicate = [](const MaskBlock&) -> Visibility { throw Thrown("predicate"); };
    reaches("predicate", options);
    options = {};
    options.score_mod = [](const ScoreTile&) { throw Thrown("score_mod"); };
    reaches("score_mod", options);
  }
  ExecutionOptions execution;
  execution.progress = [](double) { throw Thrown("progress"); };
  reaches("progress", {}, execution);
  execution.progress = [](double done) {
    if (done == 1.0) throw Thrown("last progress");
  };
  reaches("last progress", {}, execution);
}

TEST_P(Callbacks, APlanWorksAfterItsCallbackThrew) {
  std::atomic<bool> angry{false};
  AttentionOptions options = widened({});
  options.mask_mod = [&](const MaskTile&) {
    if (angry) throw Thrown("angry");
  };
  AttentionOutputs outputs;
  outputs.out = out_;
  AttentionPlan plan({q_, k_, k_}, outputs, options, setting().execution(2));
  plan.run();
  const auto expected = out_.bytes();
  angry = true;
  EXPECT_THROW(plan.run(), Thrown);
  EXPECT_THROW(plan.run(), Thrown);
  angry = false;
  fill_with_junk(out_);
  plan.run();
  EXPECT_EQ(out_.bytes(), expected);
}

TEST_P(Callbacks, ThrownThingsNeedNotBeExceptions) {
  AttentionOptions options;
  options.mask_mod = [](const MaskTile&) { throw 42; };
  try {
    run(options);
    ADD_FAILURE();
  } catch (int number) {
    EXPECT_EQ(number, 42);
  }
}

TEST_P(Callbacks, MayCallTheEngine) {
  const auto expected = run({});
  const Array q = scrambled(dtype(), {3, 4}, 5);
  const Tensor inner = attention({q, q, q}, widened({}), setting().execution());
  std::atomic<int> wrong{0};
  AttentionOptions options;
  options.mask_mod = [&](const MaskTile&) {
    const Tensor again = attention({q, q, q}, widened({}), setting().execution(2));
    const auto bytes = static_cast<std::size_t>(again.size()) * size_of(dtype());
    wrong += std::memcmp(again.view().data, inner.view().data, bytes) != 0;
  };
  EXPECT_EQ(run(options), expected);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace qkv::test
