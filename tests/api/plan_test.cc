// AttentionPlan: planned once, run many times, on memory of the caller's.
#include <thread>

#include "api/attention_test_util.h"

namespace qkv::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Planned : public SettingTest {
 protected:
  // A problem with everything a plan can hold: out, lse, weights, several heads and spans.
  void SetUp() override {
    SettingTest::SetUp();
    if (IsSkipped()) return;
    q_ = scrambled(dtype(), {2, 4, 5, 16}, 1);
    k_ = scrambled(dtype(), {2, 2, 2100, 16}, 2);
    v_ = scrambled(dtype(), {2, 2, 2100, 8}, 3);
    out_ = Array(setting().result_type(), {2, 4, 5, 8});
    lse_ = Array(setting().result_type(), {2, 4, 5});
    weights_ = Array(setting().result_type(), {2, 1, 2, 2100});
    options_ = widened({});
    options_.causal = true;
    options_.sinks = {0, 1, 2, 3};
  }
  AttentionInputs inputs() const { return {q_, k_, v_}; }
  AttentionOutputs outputs() { return outputs_of(out_, lse_, weights_); }
  AttentionOutputs outputs_of(Array& out, Array& lse, Array& weights) {
    AttentionOutputs outputs;
    outputs.out = out;
    outputs.lse = lse;
    outputs.weights = weights;
    outputs.selection = {{3}, {4, 0}};
    return outputs;
  }
  void forget_results() {
    for (Array* array : {&out_, &lse_, &weights_}) fill_with_junk(*array);
  }
  using Bytes = std::vector<Bits>;
  Bytes results() const { return {out_.bytes(), lse_.bytes(), weights_.bytes()}; }

  Array q_, k_, v_, out_, lse_, weights_;
  AttentionOptions options_;
};
INSTANTIATE_TEST_SUITE_P(AllKernels, Planned, ::testing::ValuesIn(all_settings()), setting_name);

TEST_P(Planned, EveryRunGivesTheBitsOfTheOneCall) {
  attention(inputs(), outputs(), options_, setting().execution());
  const Bytes expected = results();
  for (int threads : {0, 1, 2, 5}) {
    AttentionPlan plan(inputs(), outputs(), options_, setting().execution(threads));
    for (int run = 0; run < 3; ++run) {
      forget_results();
      plan.run();
      EXPECT_EQ(results(), expected) << threads << " threads, run " << run;
    }
  }
}

TEST_P(Planned, RunReadsTheMemoryAnew) {
  AttentionPlan plan(inputs(), outputs(), options_, setting().execution());
  plan.run();
  const Bytes before = results();
  v_.set(0, 100);
  plan.run();
  EXPECT_NE(results(), before);
  v_ = scrambled(dtype(), {2, 2, 2100, 8}, 3);
  AttentionPlan(inputs(), outputs(), options_, setting().execution()).run();
  EXPECT_EQ(results(), before);
}

TEST_P(Planned, WorkspaceOfTheCallersOfAnyAlignment) {
  AttentionPlan plan(inputs(), outputs(), options_, setting().execution(2));
  plan.run();
  const Bytes expected = results();
  const std::size_t needed = plan.description().workspace_bytes;
  ASSERT_GT(needed, 0u);
  std::vector<std::byte> memory(needed + 256, std::byte{0x5c});
  for (std::size_t shift : {0, 1, 3, 4, 60, 63}) {
    forget_results();
    std::fill(memory.begin(), memory.end(), std::byte{0x5c});
    plan.run(std::span(memory).subspan(64 + shift, needed));
    EXPECT_EQ(results(), expected) << shift;
    for (std::size_t i = 0; i < 64 + shift; ++i) ASSERT_EQ(memory[i], std::byte{0x5c}) << i;
    for (std::size_t i = 64 + shift + needed; i < memory.size(); ++i) {
      ASSERT_EQ(memory[i], std::byte{0x5c}) << "written " << i << " of " << memory.size();
    }
  }
}

TEST_P(Planned, WorkspaceTooSmallIsRefusedBeforeAnythingIsWritten) {
  AttentionPlan plan(inputs(), outputs(), options_, setting().execution());
  const std::size_t needed = plan.description().workspace_bytes;
  std::vector<std::byte> memory(needed);
  forget_results();
  const Bytes before = results();
  for (std::size_t size : {needed - 1, std::size_t{1}, std::size_t{0}}) {
    try {
      plan.run(std::span(memory).first(size));
      ADD_FAILURE() << "a workspace of " << size << " bytes was taken";
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(std::string(error.what()), "workspace: " + std::to_string(size) +
                                               " bytes are too few; this plan needs " +
                                               std::to_string(needed));
    }
    EXPECT_EQ(results(), before);
  }
  try {
    plan.run(std::span<std::byte>());
    ADD_FAILURE() << "a null workspace was taken";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "workspace: null pointer; pass memory");
  }
  EXPECT_EQ(results(), before);
}

TEST_P(Planned, RunsOnOtherMemory) {
  AttentionPlan plan(inputs(), outputs(), options_, setting().execution());
  plan.run();
  const Bytes first = results();
  const Array q = scrambled(dtype(), q_.shape(), 4), k = scrambled(dtype(), k_.shape(), 5);
  const Array v = scrambled(dtype(), v_.shape(), 6);
  Array out(out_.dtype(), out_.shape()), lse(lse_.dtype(), lse_.shape());
  Array weights(weights_.dtype(), weights_.shape());
  forget_results();
  const Bytes junk = results();
  plan.run({q, k, v}, outputs_of(out, lse, weights));
  EXPECT_EQ(results(), junk) << "the planned outputs were written";
  attention({q, k, v}, outputs(), options_, setting().execution());
  EXPECT_EQ(results(), (Bytes{out.bytes(), lse.bytes(), weights.bytes()}));
  // "Runs on the tensors given at planning", also after a run on others.
  forget_results();
  plan.run();
  EXPECT_EQ(results(), first);
}

TEST_P(Planned, OtherShapesTypesAndStridesAreRefused) {
  AttentionPlan plan(inputs(), outputs(), options_, setting().execution());
  const auto refused = [&](const AttentionInputs& in, const AttentionOutputs& out,
                           const std::string& name) {
    forget_results();
    const Bytes before = results();
    try {
      plan.run(in, out);
      ADD_FAILURE() << name << " was taken";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), AllOf(::testing::StartsWith(name), HasSubstr("plan anew")));
    }
    EXPECT_EQ(results(), before);
  };
  AttentionInputs in = inputs();
  in.query = in.query.slice(2, 0, 4);
  refused(in, outputs(), "query: ");
  in = inputs();
  in.key.strides[2] *= -1;
  refused(in, outputs(), "key: ");
  in = inputs();
  in.value.dtype = dtype() == DType::kFloat64 ? DType::kInt64 : DType::kInt16;
  refused(in, outputs(), "value: ");
  AttentionOutputs out = outputs();
  out.lse = MutableTensorView();
  refused(inputs(), out, "lse: ");
  out = outputs();
  out.out = out.out.transposed(0, 1);
  refused(inputs(), out, "out: ");
  out = outputs();
  out.weights.rank = 3;
  refused(inputs(), out, "weights: ");
}

// The plan would write the planned rows under the name of others.
TEST_P(Planned, AnotherSelectionIsRefused) {
  AttentionPlan plan(inputs(), outputs(), options_, setting().execution());
  AttentionOutputs others = outputs();
  others.selection = {{2}, {4, 0}};
  EXPECT_THROW(plan.run(inputs(), others), InvalidArgument);
  others.selection = {{3}, {4, 1}};
  EXPECT_THROW(plan.run(inputs(), others), InvalidArgument);
}

TEST_P(Planned, ARefusedRunLeavesThePlanAsItWas) {
  AttentionPlan plan(inputs(), outputs(), options_, setting().execution());
  plan.run();
  const Bytes expected = results();
  AttentionOutputs overlapping = outputs();
  overlapping.out.data = v_.view().data;
  if (overlapping.out.dtype == dtype()) {
    EXPECT_THROW(plan.run(inputs(), overlapping), InvalidArgument);
  }
  AttentionInputs null = inputs();
  null.key.data = nullptr;
  EXPECT_THROW(plan.run(null, outputs()), InvalidArgument);
  forget_results();
  plan.run();
  EXPECT_EQ(results(), expected);
}

TEST_P(Planned, SizesAreToldBeforeRunning) {
  forget_results();
  const Bytes before = results();
  const AttentionPlan plan(inputs(), outputs(), options_, setting().execution(2));
  const PlanDescription& d = plan.description();
  EXPECT_EQ(d.weights_bytes, weights_.bytes().size());
  EXPECT_GT(d.workspace_bytes, 0u);
  EXPECT_GE(d.tasks, 1);
  EXPECT_GE(d.rows_per_tile, 1);
  EXPECT_GE(d.threads, 1);
  EXPECT_LE(d.threads, 2);
  EXPECT_EQ(results(), before) << "planning wrote results";
  AttentionOutputs no_weights = outputs();
  no_weights.weights = MutableTensorView();
  EXPECT_EQ(AttentionPlan(inputs(), no_weights, options_).description().weights_bytes, 0u);
}

TEST_P(Planned, MovesWithItsMemory) {
  AttentionPlan plan(inputs(), outputs(), options_, setting().execution());
  plan.run();
  const Bytes expected = results();
  AttentionPlan moved(std::move(plan));
  forget_results();
  moved.run();
  EXPECT_EQ(results(), expected);
  AttentionPlan other({q_, q_, q_}, {}, options_, setting().execution());
  other = std::move(moved);
  forget_results();
  other.run();
  EXPECT_EQ(results(), expected);
}

TEST_P(Planned, OptionsAreCopied) {
  AttentionOptions options = options_;
  AttentionPlan plan(inputs(), outputs(), options, setting().execution());
  plan.run();
  const Bytes expected = results();
  options.causal = false;
  options.sinks = {9, 9, 9, 9};
  forget_results();
  plan.run();
  EXPECT_EQ(results(), expected);
}

TEST_P(Planned, ManyThreadsWithAPlanEach) {
  AttentionPlan(inputs(), outputs(), options_, setting().execution()).run();
  const Bytes expected = results();
  constexpr int kThreads = 8;
  std::vector<Bytes> got(kThreads);
  std::vector<std::thread> threads;
  for (int n = 0; n < kThreads; ++n) {
    threads.emplace_back([&, n] {
      Array out(out_.dtype(), out_.shape()), lse(lse_.dtype(), lse_.shape());
      Array weights(weights_.dtype(), weights_.shape());
      AttentionPlan plan(inputs(), outputs_of(out, lse, weights), options_,
                         setting().execution(n % 4));
      for (int run = 0; run < 3; ++run) {
        for (Array* array : {&out, &lse, &weights}) fill_with_junk(*array);
        plan.run();
      }
      got[static_cast<std::size_t>(n)] = {out.bytes(), lse.bytes(), weights.bytes()};
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Bytes& bytes : got) EXPECT_EQ(bytes, expected);
}

// "Threads at most": many more than there are tasks cost nothing.
TEST_P(Planned, MoreThreadsThanTasks) {
  AttentionPlan one(inputs(), outputs(), options_, setting().execution(1));
  one.run();
  const Bytes expected = results();
  forget_results();
  AttentionPlan many(inputs(), outputs(), options_, setting().execution(1000));
  EXPECT_LE(many.description().threads, many.description().tasks);
  EXPECT_LE(many.description().workspace_bytes,
            one.description().workspace_bytes * static_cast<std::size_t>(one.description().tasks));
  many.run();
  EXPECT_EQ(results(), expected);
}

TEST(Facade, NoOutputsAtAllComputesNothing) {
  const Array q(DType::kFloat32, {2, 3}), k(DType::kFloat32, {4, 3});
  EXPECT_NO_THROW(attention({q, k, k}, AttentionOutputs{}));
}

TEST(Facade, AllocatesTheOutputInTheQuerysType) {
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64}) {
    const Array q(dtype, {2, 1, 3, 4}, {1}), k(dtype, {2, 1, 5, 4}, {1});
    const Array v(dtype, {2, 1, 5, 7}, {2.5});
    const Tensor out = attention({q, k, v}, widened({}));
    EXPECT_EQ(out.dtype(), dtype);
    EXPECT_EQ(shape_string(out), "[2, 1, 3, 7]");
    for (std::int64_t i = 0; i < out.size(); ++i) EXPECT_EQ(load_double(out, i), 2.5);
    EXPECT_EQ(output_shape({q, k, v}, widened({})), (Shape{2, 1, 3, 7}));
  }
}

TEST(Facade, NegativeThreadsAreRefused) {
  const Array q(DType::kFloat32, {2, 3});
  ExecutionOptions execution;
  execution.threads = -2;
  try {
    attention({q, q, q}, {}, execution);
    ADD_FAILURE();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "threads: -2 is negative; pass 0 for all of them, or a number");
  }
}

}  // namespace
}  // namespace qkv::test
