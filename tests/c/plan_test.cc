// Plans in C: workspaces, other memory, what is copied, and many threads.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "c/in_c.h"
#include "qkv/random.h"

namespace qkv::test {
namespace {

constexpr std::int64_t kHeads = 4, kQueries = 33, kKeys = 300, kSize = 16;

struct Results {
  std::vector<float> out, weights;
  bool operator==(const Results&) const = default;
};

class CPlan : public ::testing::Test {
 protected:
  CPlan() : q_(kHeads * kQueries * kSize), k_(kHeads * kKeys * kSize) {
    random::Generator generator(5);
    for (float& x : q_) x = static_cast<float>(generator.normal());
    for (float& x : k_) x = static_cast<float>(generator.normal());
    options_.causal = true;
    options_.alibi_slopes = alibi_slopes(kHeads);
    options_.sinks.assign(kHeads, 0.5F);
  }

  AttentionInputs inputs() const {
    const TensorView key(k_.data(), {kHeads, kKeys, kSize});
    return {TensorView(q_.data(), {kHeads, kQueries, kSize}), key, key};
  }
  static Results empty_results() {
    return {std::vector<float>(kHeads * kQueries * kSize, -7.0F),
            std::vector<float>(2 * 3 * kKeys, -7.0F)};
  }
  static AttentionOutputs outputs(Results& results) {
    AttentionOutputs outputs;
    outputs.out = MutableTensorView(results.out.data(), {kHeads, kQueries, kSize});
    outputs.weights = MutableTensorView(results.weights.data(), {2, 3, kKeys});
    outputs.selection = {{3, 1}, {0, 32, 5}};
    return outputs;
  }
  Results expected() const {
    Results results = empty_results();
    attention(inputs(), outputs(results), options_);
    return results;
  }

  std::vector<float> q_, k_;
  AttentionOptions options_;
};

TEST_F(CPlan, CopiesWhatItIsGiven) {
  Results results = empty_results();
  qkv_plan* plan = nullptr;
  {
    const auto c = std::make_unique<InC>(inputs(), outputs(results), options_);
    ASSERT_EQ(qkv_plan_create(&c->inputs, &c->outputs, &c->options, &c->execution, &plan), QKV_OK)
        << qkv_last_error();
  }
  EXPECT_OK(qkv_plan_run(plan, nullptr, 0));
  EXPECT_EQ(results, expected());
  qkv_plan_destroy(plan);
}

TEST_F(CPlan, Describes) {
  Results results = empty_results();
  ExecutionOptions execution;
  execution.threads = 2;
  execution.isa = Isa::kPortable;
  const InC c(inputs(), outputs(results), options_, execution);
  qkv_plan* plan = nullptr;
  ASSERT_EQ(qkv_plan_create(&c.inputs, &c.outputs, &c.options, &c.execution, &plan), QKV_OK);
  qkv_plan_description d;
  qkv_plan_description_init(&d);
  EXPECT_OK(qkv_plan_describe(plan, &d));
  const AttentionPlan in_cc(inputs(), outputs(results), options_, execution);
  const PlanDescription& e = in_cc.description();
  EXPECT_EQ(d.kernel, e.kernel);
  EXPECT_EQ(d.isa, QKV_ISA_PORTABLE);
  EXPECT_EQ(d.threads, e.threads);
  EXPECT_EQ(d.tasks, e.tasks);
  EXPECT_EQ(d.rows_per_tile, e.rows_per_tile);
  EXPECT_EQ(d.workspace_bytes, static_cast<std::int64_t>(e.workspace_bytes));
  EXPECT_EQ(d.weights_bytes, static_cast<std::int64_t>(results.weights.size() * 4));
  EXPECT_FAILS(qkv_plan_describe(plan, nullptr), QKV_INVALID_ARGUMENT, "description");
  qkv_plan_destroy(plan);
}

TEST_F(CPlan, Workspaces) {
  Results results = empty_results();
  const InC c(inputs(), outputs(results), options_);
  qkv_plan* plan = nullptr;
  ASSERT_EQ(qkv_plan_create(&c.inputs, &c.outputs, &c.options, &c.execution, &plan), QKV_OK);
  qkv_plan_description d;
  qkv_plan_description_init(&d);
  EXPECT_OK(qkv_plan_describe(plan, &d));
  std::vector<std::byte> memory(static_cast<std::size_t>(d.workspace_bytes) + 3);
  EXPECT_OK(qkv_plan_run(plan, memory.data() + 3, d.workspace_bytes));
  EXPECT_EQ(results, expected());

  results = empty_results();
  const Results junk = results;
  EXPECT_FAILS(qkv_plan_run(plan, memory.data(), d.workspace_bytes - 1), QKV_INVALID_ARGUMENT,
               "workspace: ");
  EXPECT_FAILS(qkv_plan_run(plan, memory.data(), 0), QKV_INVALID_ARGUMENT, "workspace: 0 bytes");
  EXPECT_FAILS(qkv_plan_run(plan, nullptr, d.workspace_bytes), QKV_INVALID_ARGUMENT,
               "workspace: null pointer");
  EXPECT_FAILS(qkv_plan_run(plan, memory.data(), -1), QKV_INVALID_ARGUMENT, "workspace: ");
  EXPECT_FAILS(qkv_plan_run_on(plan, &c.inputs, &c.outputs, memory.data(), 8), QKV_INVALID_ARGUMENT,
               "workspace: 8 bytes are too few");
  EXPECT_FAILS(qkv_plan_run_on(plan, &c.inputs, &c.outputs, memory.data(), 0), QKV_INVALID_ARGUMENT,
               "workspace: 0 bytes");
  EXPECT_EQ(results, junk);
  qkv_plan_destroy(plan);
}

TEST_F(CPlan, RunsOnOtherMemory) {
  Results results = empty_results(), others = empty_results();
  const InC c(inputs(), outputs(results), options_);
  qkv_plan* plan = nullptr;
  ASSERT_EQ(qkv_plan_create(&c.inputs, &c.outputs, &c.options, &c.execution, &plan), QKV_OK);
  const std::vector<float> other_q(q_.rbegin(), q_.rend()), other_k(k_.rbegin(), k_.rend());
  AttentionInputs in = inputs();
  in.query.data = other_q.data();
  in.key.data = in.value.data = other_k.data();
  const InC o(in, outputs(others));
  EXPECT_OK(qkv_plan_run_on(plan, &o.inputs, &o.outputs, nullptr, 0));
  Results want = empty_results();
  attention(in, outputs(want), options_);
  EXPECT_EQ(others, want);
  EXPECT_EQ(results, empty_results());

  InC wrong(in, outputs(others));
  wrong.query.extents[1] = kQueries - 1;
  EXPECT_FAILS(qkv_plan_run_on(plan, &wrong.inputs, &wrong.outputs, nullptr, 0),
               QKV_INVALID_ARGUMENT, "query: ");
  EXPECT_FAILS(qkv_plan_run_on(plan, nullptr, &wrong.outputs, nullptr, 0), QKV_INVALID_ARGUMENT,
               "inputs");
  EXPECT_FAILS(qkv_plan_run_on(plan, &wrong.inputs, nullptr, nullptr, 0), QKV_INVALID_ARGUMENT,
               "outputs");
  qkv_plan_destroy(plan);
}

TEST_F(CPlan, ManyThreadsWithAPlanEach) {
  const Results want = expected();
  constexpr int kThreads = 12;
  std::vector<Results> got(kThreads, empty_results());
  std::vector<std::thread> threads;
  for (int n = 0; n < kThreads; ++n) {
    threads.emplace_back([&, n] {
      ExecutionOptions execution;
      execution.threads = n % 4;
      const InC c(inputs(), outputs(got[static_cast<std::size_t>(n)]), options_, execution);
      qkv_plan* plan = nullptr;
      EXPECT_OK(qkv_plan_create(&c.inputs, &c.outputs, &c.options, &c.execution, &plan));
      for (int run = 0; run < 3; ++run) EXPECT_OK(qkv_plan_run(plan, nullptr, 0));
      qkv_plan_destroy(plan);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Results& results : got) EXPECT_EQ(results == want, true);
}

// A const handle serves many threads.
TEST_F(CPlan, ManyThreadsFinishOneState) {
  AttentionOptions options = options_;
  options.sinks.clear();
  options.query_offset = {kKeys - kQueries};
  const Results want = expected();
  const InC c(inputs(), {}, options);
  qkv_state* state = nullptr;
  ASSERT_EQ(qkv_state_of(&c.inputs, 0, &c.options, nullptr, &state), QKV_OK) << qkv_last_error();
  std::vector<std::thread> threads;
  for (int n = 0; n < 8; ++n) {
    threads.emplace_back([&] {
      Results results = empty_results();
      AttentionOutputs out = outputs(results);
      out.weights = MutableTensorView();
      const InC finish(inputs(), out);
      EXPECT_OK(qkv_state_finish(state, &finish.outputs, options_.sinks.data(), kHeads));
      EXPECT_EQ(results.out == want.out, true);
    });
  }
  for (std::thread& thread : threads) thread.join();
  qkv_state_destroy(state);
}

}  // namespace
}  // namespace qkv::test
