// The C interface gives the bits of the C++ one, on random problems that draw every option jointly.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "c/in_c.h"
#include "qkv/state.h"
#include "support/random_problem.h"

namespace qkv::test {
namespace {

ExecutionOptions execution_of(std::uint64_t seed) {
  const std::vector<Isa> isas = usable_isas();
  ExecutionOptions execution;
  execution.isa = isas[seed % isas.size()];
  execution.threads = static_cast<int>(seed % 4);
  return execution;
}

void one_call_and_plan(std::uint64_t seed, const Limits& limits) {
  RandomProblem random(seed, limits);
  const Problem& p = random.problem();
  random.clear_outputs();
  attention(p.inputs, p.outputs, p.options, execution_of(seed));
  const std::vector<std::byte> expected = random.output_bytes();

  const InC c(p.inputs, p.outputs, p.options, execution_of(seed));
  random.clear_outputs();
  EXPECT_OK(qkv_attention(&c.inputs, &c.outputs, &c.options, &c.execution));
  EXPECT_EQ(random.output_bytes() == expected, true) << random.description();

  qkv_plan* plan = nullptr;
  EXPECT_OK(qkv_plan_create(&c.inputs, &c.outputs, &c.options, &c.execution, &plan));
  for (int run = 0; run < 2; ++run) {
    random.clear_outputs();
    EXPECT_OK(qkv_plan_run(plan, nullptr, 0));
    EXPECT_EQ(random.output_bytes() == expected, true) << random.description();
  }
  random.clear_outputs();
  EXPECT_OK(qkv_plan_run_on(plan, &c.inputs, &c.outputs, nullptr, 0));
  EXPECT_EQ(random.output_bytes() == expected, true) << random.description();
  qkv_plan_destroy(plan);
}

TEST(CBits, SmallProblems) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) one_call_and_plan(seed, small_limits());
}

TEST(CBits, ProblemsAcrossSpans) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) one_call_and_plan(seed, span_crossing_limits());
}

TEST(CBits, OutputShapes) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    RandomProblem random(seed, small_limits());
    const Problem& p = random.problem();
    const InC c(p.inputs, p.outputs, p.options);
    std::int64_t extents[4] = {};
    std::int32_t rank = 0;
    EXPECT_OK(qkv_output_shape(&c.inputs, &c.options, extents, &rank));
    EXPECT_EQ(std::vector(extents, extents + rank), output_shape(p.inputs, p.options));
  }
}

// The state of all keys of a problem, by both interfaces; problems without states fail alike.
TEST(CBits, States) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    RandomProblem random(seed, small_limits());
    const Problem& p = random.problem();
    AttentionOptions options = p.options;
    options.sinks.clear();
    AttentionOutputs outputs = p.outputs;
    outputs.weights = MutableTensorView();
    const InC c(p.inputs, outputs, options, execution_of(seed));
    qkv_state* state = nullptr;
    try {
      const State expected = State::of(p.inputs, 0, options, execution_of(seed));
      EXPECT_OK(qkv_state_of(&c.inputs, 0, &c.options, &c.execution, &state));
      const std::vector<std::byte> bytes = expected.serialize();
      std::vector<std::byte> bytes_in_c(bytes.size() + 1, std::byte{0x5a});
      std::int64_t size = 0;
      EXPECT_OK(qkv_state_serialize(state, bytes_in_c.data(),
                                    static_cast<std::int64_t>(bytes_in_c.size()), &size));
      ASSERT_EQ(static_cast<std::size_t>(size), bytes.size());
      EXPECT_EQ(std::memcmp(bytes_in_c.data(), bytes.data(), bytes.size()), 0);
      EXPECT_EQ(bytes_in_c.back(), std::byte{0x5a});

      random.clear_outputs();
      expected.finish(outputs, p.options.sinks);
      const std::vector<std::byte> results = random.output_bytes();
      random.clear_outputs();
      EXPECT_OK(qkv_state_finish(state, &c.outputs, p.options.sinks.data(),
                                 static_cast<std::int64_t>(p.options.sinks.size())));
      EXPECT_EQ(random.output_bytes() == results, true) << random.description();
      ++compared;
    } catch (const Unsupported& error) {
      EXPECT_FAILS(qkv_state_of(&c.inputs, 0, &c.options, &c.execution, &state), QKV_UNSUPPORTED,
                   error.what());
      EXPECT_EQ(state, nullptr);
    }
    qkv_state_destroy(state);
  }
  EXPECT_GE(compared, 30);
}

}  // namespace
}  // namespace qkv::test
