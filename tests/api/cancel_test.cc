// The cancel flag and the progress callback.
#include <atomic>
#include <mutex>

#include "api/attention_test_util.h"

namespace qkv::test {
namespace {

class Cancel : public SettingTest {
 protected:
  void SetUp() override {
    SettingTest::SetUp();
    q_ = scrambled(dtype(), {1, 6, 200, 8}, 1);
    k_ = scrambled(dtype(), {1, 6, 200, 8}, 2);
    out_ = Array(setting().result_type(), {1, 6, 200, 8});
  }
  AttentionOutputs outputs() {
    AttentionOutputs outputs;
    outputs.out = out_;
    return outputs;
  }
  Array q_, k_, out_;
};
INSTANTIATE_TEST_SUITE_P(AllKernels, Cancel, ::testing::ValuesIn(all_settings()), setting_name);

TEST_P(Cancel, FlagSetBeforehandComputesNothing) {
  const std::atomic<bool> cancel{true};
  std::atomic<int> calls{0};
  AttentionOptions options = widened({});
  options.mask_mod = [&](const MaskTile&) { ++calls; };
  ExecutionOptions execution = setting().execution();
  execution.cancel = &cancel;
  try {
    attention({q_, k_, k_}, outputs(), options, execution);
    ADD_FAILURE() << "not cancelled";
  } catch (const Cancelled& error) {
    EXPECT_STREQ(error.what(), "the call was cancelled; its outputs are unspecified");
  }
  EXPECT_EQ(calls, 0);
}

TEST_P(Cancel, FlagSetMidwayStopsAndThePlanCanRunAgain) {
  for (int threads : {1, 3}) {
    std::atomic<bool> cancel{false};
    std::atomic<int> calls{0}, stop_at{-1};
    AttentionOptions options = widened({});
    options.mask_mod = [&](const MaskTile&) {
      if (++calls == stop_at) cancel = true;
    };
    ExecutionOptions execution = setting().execution(threads);
    execution.cancel = &cancel;
    AttentionPlan plan({q_, k_, k_}, outputs(), options, execution);
    plan.run();
    const Bits expected = out_.bytes();
    const int all = calls.exchange(0);
    stop_at = all / 10 + 1;
    EXPECT_THROW(plan.run(), Cancelled);
    EXPECT_LT(calls, all);
    cancel = false;
    stop_at = -1;
    fill_with_junk(out_);
    plan.run();
    EXPECT_EQ(out_.bytes(), expected);
  }
}

// 2^45 rows of width 0: no memory, and no work either.
TEST_P(Cancel, OutputsWithoutElementsTakeNoTime) {
  const std::int64_t rows = std::int64_t{1} << 45;
  const Array none(dtype(), {4, 0});
  TensorView query = none;
  query.extents[0] = rows;
  Array results(setting().result_type(), {4, 0});
  AttentionOutputs outputs;
  outputs.out = results;
  outputs.out.extents[0] = rows;
  attention({query, none, none}, outputs, widened({}), setting().execution());
}

TEST_P(Cancel, StopsInsideOneLongRow) {
  std::atomic<bool> cancel{false};
  std::atomic<int> calls{0};
  const Array q = array({1, 1}, {0}), k = array({100000, 1}, {0});
  AttentionOptions options = widened({});
  options.mask_mod = [&](const MaskTile&) {
    ++calls;
    cancel = true;
  };
  ExecutionOptions execution = setting().execution(1);
  execution.cancel = &cancel;
  Array out(setting().result_type(), {1, 1});
  AttentionOutputs outputs;
  outputs.out = out;
  EXPECT_THROW(attention({q, k, k}, outputs, options, execution), Cancelled);
  // 100,000 keys of one row are far below a millisecond of work in float32, but a caller's own
  // callback may take any time for each block.
  if (dtype() != DType::kFloat64) {
    EXPECT_LE(calls, 100000 / 64 / 4);
  }
}

class Progress : public SettingTest {
 protected:
  // The shares told during one call, in order. Fails if two threads tell at once.
  std::vector<double> told(const Array& q, const Array& k, int threads, bool weights = false) {
    std::vector<double> shares;
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
    ExecutionOptions execution = setting().execution(threads);
    execution.progress = [&](double share) {
      EXPECT_FALSE(busy.test_and_set()) << "told by two threads at once";
      shares.push_back(share);
      busy.clear();
    };
    Array out(setting().result_type(), q.shape());
    Shape shape = q.shape();
    shape.back() = k.shape()[k.shape().size() - 2];
    Array all(setting().result_type(), shape);
    AttentionOutputs outputs;
    outputs.out = out;
    if (weights) outputs.weights = all;
    attention({q, k, k}, outputs, widened({}), execution);
    return shares;
  }
  static void expect_rising_to_one(const std::vector<double>& shares) {
    ASSERT_FALSE(shares.empty());
    EXPECT_EQ(shares.back(), 1.0);
    EXPECT_GE(shares.front(), 0.0);
    for (std::size_t i = 1; i < shares.size(); ++i) {
      ASSERT_GE(shares[i], shares[i - 1]) << "call " << i << " of " << shares.size();
    }
    EXPECT_EQ(std::count(shares.begin(), shares.end(), 1.0), 1);
  }
};
INSTANTIATE_TEST_SUITE_P(AllKernels, Progress, ::testing::ValuesIn(all_settings()), setting_name);

TEST_P(Progress, RisesToOne) {
  const Array q = scrambled(dtype(), {2, 3, 150, 8}, 1), k = scrambled(dtype(), {2, 3, 150, 8}, 2);
  for (int threads : {1, 2, 4}) {
    for (bool weights : {false, true}) {
      const std::vector<double> shares = told(q, k, threads, weights);
      expect_rising_to_one(shares);
      EXPECT_GT(shares.size(), 1u);
    }
  }
}

TEST_P(Progress, RisesToOneOverManySpansAndOverNothing) {
  expect_rising_to_one(told(array({1, 8}, {1}), array({5000, 8}, {1}), 2));
  expect_rising_to_one(told(array({0, 8}, {}), array({5, 8}, {1}), 2));
}

// Millions of tiny tasks: two threads that end one each at nearly the same moment may tell it in
// the wrong order, about twice in a million.
TEST(ProgressRace, NeverFalls) {
  constexpr std::int64_t kTasks = 5000;
  const Array ones(DType::kFloat32, {kTasks, 1, 1, 1}, {1});
  Array out(DType::kFloat32, {kTasks, 1, 1, 1});
  AttentionOutputs outputs;
  outputs.out = out;
  double last = 0;
  std::int64_t falls = 0;
  ExecutionOptions execution;
  execution.threads = 2;
  execution.progress = [&](double share) {
    falls += share < last;
    last = share;
  };
  AttentionPlan plan({ones, ones, ones}, outputs, {}, execution);
  for (int run = 0; run < 1000; ++run) {
    last = 0;
    plan.run();
    EXPECT_EQ(last, 1.0);
  }
  EXPECT_EQ(falls, 0);
}

}  // namespace
}  // namespace qkv::test
