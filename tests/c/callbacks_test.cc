// Callbacks in C: what they are told, how they stop a call, and cancelling.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "c/in_c.h"
#include "qkv/random.h"

namespace qkv::test {
namespace {

// Some thousand tiles, so that a call can be stopped on its way.
class CCallbacks : public ::testing::Test {
 protected:
  static constexpr std::int64_t kHeads = 2, kLength = 700, kSize = 8;
  static constexpr std::size_t kCount = kHeads * kLength * kSize;

  CCallbacks() : data_(kCount), out_(kCount), c_({view(), view(), view()}, outputs()) {
    random::Generator generator(3);
    for (float& x : data_) x = static_cast<float>(generator.normal());
  }
  TensorView view() const { return {data_.data(), {kHeads, kLength, kSize}}; }
  AttentionOutputs outputs() {
    AttentionOutputs outputs;
    outputs.out = MutableTensorView(out_.data(), {kHeads, kLength, kSize});
    return outputs;
  }
  qkv_status run() { return qkv_attention(&c_.inputs, &c_.outputs, &c_.options, &c_.execution); }

  std::vector<float> data_, out_;
  InC c_;
};

// Counts its calls and returns `result` from the call `when` on.
struct Counter {
  std::atomic<int> calls{0};
  int when = 0;
  std::int32_t result = 0;

  std::int32_t call() { return calls++ >= when ? result : 0; }
  template <class Told>
  static std::int32_t count(void* context, Told) {
    return static_cast<Counter*>(context)->call();
  }
};

std::int32_t all_visible(void*, const qkv_mask_tile*) { return 0; }

TEST_F(CCallbacks, EachMayStopTheCall) {
  ASSERT_EQ(run(), QKV_OK);
  const std::vector<float> expected = out_;
  for (int when : {0, 3}) {
    for (std::int32_t threads : {1, 4}) {
      c_.execution.threads = threads;
      const auto stopped_by = [&](const char* name, std::int32_t result, auto set) {
        Counter counter;
        counter.when = when;
        counter.result = result;
        qkv_attention_options_init(&c_.options);
        set(&counter);
        EXPECT_FAILS(run(), QKV_CALLBACK_FAILED,
                     std::string(name) + ": it returned " + std::to_string(result));
        // Other threads may be in a call when the first one fails.
        EXPECT_LE(counter.calls, when + 4 * threads) << name;
        c_.execution.progress = nullptr;
      };
      stopped_by("score_mod", 7, [&](Counter* counter) {
        c_.options.score_mod = Counter::count<const qkv_score_tile*>;
        c_.options.score_mod_context = counter;
      });
      stopped_by("mask_mod", -1, [&](Counter* counter) {
        c_.options.mask_mod = Counter::count<const qkv_mask_tile*>;
        c_.options.mask_mod_context = counter;
      });
      stopped_by("block_predicate", 3, [&](Counter* counter) {
        c_.options.mask_mod = all_visible;
        c_.options.block_predicate = Counter::count<const qkv_mask_block*>;
        c_.options.block_predicate_context = counter;
      });
      stopped_by("progress", 1, [&](Counter* counter) {
        c_.execution.progress = Counter::count<double>;
        c_.execution.progress_context = counter;
      });
    }
  }
  qkv_attention_options_init(&c_.options);
  EXPECT_OK(run());
  EXPECT_EQ(out_, expected);
}

TEST_F(CCallbacks, APlanRunsAgainAfterOneFailed) {
  ASSERT_EQ(run(), QKV_OK);
  const std::vector<float> expected = out_;
  Counter counter;
  counter.result = 9;
  c_.options.score_mod = Counter::count<const qkv_score_tile*>;
  c_.options.score_mod_context = &counter;
  qkv_plan* plan = nullptr;
  ASSERT_EQ(qkv_plan_create(&c_.inputs, &c_.outputs, &c_.options, nullptr, &plan), QKV_OK);
  EXPECT_FAILS(qkv_plan_run(plan, nullptr, 0), QKV_CALLBACK_FAILED, "score_mod");
  EXPECT_FAILS(qkv_plan_run_on(plan, &c_.inputs, &c_.outputs, nullptr, 0), QKV_CALLBACK_FAILED,
               "score_mod");
  counter.result = 0;
  EXPECT_OK(qkv_plan_run(plan, nullptr, 0));
  EXPECT_EQ(out_, expected);
  qkv_plan_destroy(plan);
}

TEST_F(CCallbacks, AStateIsStoppedToo) {
  Counter counter;
  counter.result = 2;
  c_.options.score_mod = Counter::count<const qkv_score_tile*>;
  c_.options.score_mod_context = &counter;
  auto* state = reinterpret_cast<qkv_state*>(&counter);
  EXPECT_FAILS(qkv_state_of(&c_.inputs, 0, &c_.options, nullptr, &state), QKV_CALLBACK_FAILED,
               "score_mod: it returned 2");
  EXPECT_EQ(state, nullptr);
}

TEST_F(CCallbacks, ProgressRisesToOne) {
  std::vector<double> shares;
  c_.execution.progress = [](void* context, double share) {
    static_cast<std::vector<double>*>(context)->push_back(share);
    return 0;
  };
  c_.execution.progress_context = &shares;
  EXPECT_OK(run());
  ASSERT_FALSE(shares.empty());
  EXPECT_EQ(shares.back(), 1.0);
}

TEST_F(CCallbacks, ABlockPredicateThatDisagreesIsFound) {
  c_.options.mask_mod = all_visible;
  c_.options.block_predicate = [](void*, const qkv_mask_block*) { return int32_t{QKV_HIDDEN}; };
  c_.execution.check_block_predicate = 1;
  EXPECT_FAILS(run(), QKV_INVALID_ARGUMENT, "block_predicate");
}

// A callback in C that asks to stop through the cancel flag.
TEST_F(CCallbacks, CancelFromACallback) {
  qkv_cancel_flag* flag = nullptr;
  ASSERT_EQ(qkv_cancel_flag_create(&flag), QKV_OK);
  c_.options.mask_mod = [](void* context, const qkv_mask_tile*) {
    qkv_cancel(static_cast<qkv_cancel_flag*>(context));
    return 0;
  };
  c_.options.mask_mod_context = flag;
  c_.execution.cancel = flag;
  qkv_plan* plan = nullptr;
  ASSERT_EQ(qkv_plan_create(&c_.inputs, &c_.outputs, &c_.options, &c_.execution, &plan), QKV_OK);
  EXPECT_FAILS(qkv_plan_run(plan, nullptr, 0), QKV_CANCELLED, "cancelled");
  qkv_plan_destroy(plan);
  c_.options.mask_mod = nullptr;
  EXPECT_FAILS(run(), QKV_CANCELLED, "cancelled");
  qkv_state* state = nullptr;
  EXPECT_FAILS(qkv_state_of(&c_.inputs, 0, nullptr, &c_.execution, &state), QKV_CANCELLED,
               "cancelled");
  float product[1];
  const qkv_tensor one = tensor_in_c(data_.data(), DType::kFloat32, {1, 1});
  const qkv_tensor out = tensor_in_c(product, DType::kFloat32, {1, 1});
  EXPECT_FAILS(qkv_matmul(&one, &one, &out, &c_.execution), QKV_CANCELLED, "cancelled");
  qkv_cancel_flag_reset(flag);
  EXPECT_OK(run());
  qkv_cancel_flag_destroy(flag);
}

TEST_F(CCallbacks, CancelFromAnotherThread) {
  qkv_cancel_flag* flag = nullptr;
  ASSERT_EQ(qkv_cancel_flag_create(&flag), QKV_OK);
  c_.execution.cancel = flag;
  c_.execution.threads = 1;
  std::atomic<bool> started{false};
  c_.options.score_mod = [](void* context, const qkv_score_tile*) {
    *static_cast<std::atomic<bool>*>(context) = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return 0;
  };
  c_.options.score_mod_context = &started;
  std::thread canceller([&] {
    while (!started) std::this_thread::yield();
    qkv_cancel(flag);
  });
  EXPECT_EQ(run(), QKV_CANCELLED);
  canceller.join();
  qkv_cancel_flag_destroy(flag);
}

}  // namespace
}  // namespace qkv::test
