// The steps of a row against attention(), against states of exactly those keys, and against double.
#include "qkv/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/exact/exact.h"
#include "support/caller_environment.h"
#include "support/random_problem.h"
#include "tensor/element.h"

namespace qkv::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

void expect_same(const std::vector<float>& got, const std::vector<float>& expected,
                 const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  EXPECT_EQ(got.empty() ? 0 : std::memcmp(got.data(), expected.data(), got.size() * 4), 0) << what;
}

void expect_state(const SoftmaxState& got, const exact::RowState& expected,
                  const std::string& what) {
  std::vector<float> numbers = {got.max, got.sum}, wanted = {expected.m, expected.l};
  numbers.insert(numbers.end(), got.accumulator.begin(), got.accumulator.end());
  wanted.insert(wanted.end(), expected.o.begin(), expected.o.end());
  for (float& number : wanted) number = canonical(number);
  expect_same(numbers, wanted, what);
}

// out, lse and the weights of the row as attention() gives them in float32.
void expect_results_of_attention(const Problem& p, const RowIndex& at, const RowSteps& steps,
                                 const std::string& what) {
  const TensorView& query = p.inputs.query;
  std::vector<std::int64_t> shape(query.extents.begin(), query.extents.begin() + query.rank);
  shape.back() = p.d_v();
  Tensor out, lse, weights;
  ASSERT_TRUE(allocate(DType::kFloat32, shape, out).ok());
  std::vector<std::int64_t> lse_shape(shape.begin(), shape.end() - 1);
  if (p.packed()) lse_shape = {p.query_heads(), p.queries()};
  ASSERT_TRUE(allocate(DType::kFloat32, lse_shape, lse).ok());
  std::vector<std::int64_t> weights_shape = {p.query.extents[0], 1, 1, p.keys()};
  if (p.packed()) weights_shape = {1, 1, p.keys()};
  ASSERT_TRUE(allocate(DType::kFloat32, weights_shape, weights).ok());
  AttentionOutputs outputs;
  outputs.out = out;
  outputs.lse = lse;
  outputs.weights = weights;
  outputs.selection.heads = {at.head};
  outputs.selection.rows = {at.row};
  attention(p.inputs, outputs, p.options);

  const std::int64_t row = p.packed()
                               ? at.row * p.query_heads() + at.head
                               : (at.batch * p.query_heads() + at.head) * p.queries() + at.row;
  const std::int64_t lse_row = p.packed() ? at.head * p.queries() + at.row : row;
  const float* out_row = out.data<float>() + row * p.d_v();
  const float* weights_row = weights.data<float>() + at.batch * p.keys();
  expect_same(steps.out, {out_row, out_row + p.d_v()}, what + " out");
  expect_same({steps.lse}, {lse.data<float>()[lse_row]}, what + " lse");
  std::vector<float> by_column(static_cast<std::size_t>(p.keys()));
  for (const KeyStep& key : steps.keys) by_column[static_cast<std::size_t>(key.row)] = key.weight;
  expect_same(by_column, {weights_row, weights_row + p.keys()}, what + " weights");
}

// The running states are those of a row that sees the keys up to there and no others.
void expect_states_of_prefixes(const Problem& p, const RowIndex& at, const RowSteps& steps,
                               const std::string& what) {
  const Sequence sequence = p.sequence_of_row(at.batch, at.row);
  const std::int64_t i = at.row - sequence.query_begin;
  const auto state_of = [&](std::int64_t begin, std::int64_t end) {
    return exact::row_state(p, sequence, at.head, i, {begin, end});
  };
  EXPECT_EQ(steps.sequence, sequence.index) << what;
  EXPECT_EQ(steps.position, sequence.position(i)) << what;
  std::size_t next = 0;
  std::int64_t last_span = -1, spans = 0;
  for (const BlockStep& block : steps.blocks) {
    const std::string where = what + " block at " + std::to_string(block.first_key);
    EXPECT_EQ(block.span, block.first_key / 1024) << where;
    EXPECT_EQ(block.first_key / 32, (block.end_key - 1) / 32) << where;
    const exact::RowState before = state_of(block.span * 1024, block.first_key);
    expect_same({block.max_before}, {canonical(before.m)}, where);
    expect_state(block.after, state_of(block.span * 1024, block.end_key), where);
    // Each key of it, once and in order.
    for (std::int64_t j = block.first_key; j < block.end_key; ++j, ++next) {
      ASSERT_LT(next, steps.keys.size()) << where;
      EXPECT_EQ(steps.keys[next].key, j) << where;
      EXPECT_EQ(steps.keys[next].row, sequence.key_row(j)) << where;
    }
    spans += block.span != last_span;
    last_span = block.span;
  }
  EXPECT_EQ(next, steps.keys.size()) << what;
  EXPECT_EQ(static_cast<std::int64_t>(steps.merges.size()), std::max<std::int64_t>(0, spans - 1))
      << what;
  for (const MergeStep& merge : steps.merges) {
    const std::string where = what + " merge at span " + std::to_string(merge.middle_span);
    expect_state(merge.first, state_of(merge.first_span * 1024, merge.middle_span * 1024), where);
    expect_state(merge.second, state_of(merge.middle_span * 1024, merge.end_span * 1024), where);
    expect_state(merge.merged, state_of(merge.first_span * 1024, merge.end_span * 1024), where);
  }
  if (i < sequence.queries) {
    expect_state(steps.all_keys, state_of(sequence.first_key, sequence.end_key), what + " keys");
  }
  if (steps.sink) {
    const exact::RowState sink{*steps.sink, 1, std::vector<float>(steps.out.size())};
    const exact::RowState keys{steps.all_keys.max, steps.all_keys.sum, steps.all_keys.accumulator};
    expect_state(steps.final_state, exact::merge(keys, sink), what + " sink");
  }
}

struct Tally {
  int rows = 0, live = 0, masked = 0, merges = 0, sinks = 0, packed = 0;
};

void check_rows(std::uint64_t seed, const Limits& limits, Tally& tally) {
  RandomProblem random(seed, limits);
  const Problem& p = random.problem();
  if (p.query_heads() == 0 || p.queries() == 0) return;
  random::Generator choose(seed);
  for (int n = 0; n < 3; ++n) {
    RowIndex at;
    at.batch = choose.integers(0, p.query.extents[0]);
    at.head = choose.integers(0, p.query_heads());
    at.row = choose.integers(0, p.queries());
    const std::string what = random.description() + ": row " + std::to_string(at.batch) + " " +
                             std::to_string(at.head) + " " + std::to_string(at.row);
    const RowSteps steps = row_steps(p.inputs, at, p.options);
    expect_results_of_attention(p, at, steps, what);
    expect_states_of_prefixes(p, at, steps, what);
    ++tally.rows;
    for (const KeyStep& key : steps.keys) ++(key.live ? tally.live : tally.masked);
    tally.merges += static_cast<int>(steps.merges.size());
    tally.sinks += steps.sink.has_value();
    tally.packed += p.packed();
  }
}

TEST(Steps, OfRandomProblemsEndInTheResultsOfAttention) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    check_rows(seed, small_limits(), tally);
    if (seed % 2 == 0) check_rows(1000 + seed, span_crossing_limits(), tally);
  }
  EXPECT_GT(tally.rows, 200);
  EXPECT_GT(tally.live, 20'000);
  EXPECT_GT(tally.masked, 2'000);
  EXPECT_GT(tally.merges, 30);
  EXPECT_GT(tally.sinks, 30);
  EXPECT_GT(tally.packed, 30);
}

// q = [1, 2], keys [1, 0], [0, 1], [1, 1], values [10, 0], [0, 10], [5, 5], computed by hand.
TEST(Steps, OfTheWorkedExample) {
  const float q[] = {1, 2}, k[] = {1, 0, 0, 1, 1, 1}, v[] = {10, 0, 0, 10, 5, 5};
  const RowSteps steps = row_steps({{q, {1, 2}}, {k, {3, 2}}, {v, {3, 2}}}, {});
  EXPECT_EQ(steps.sequence, 0);
  EXPECT_EQ(steps.position, 2);  // the last query sees the last key
  ASSERT_EQ(steps.keys.size(), 3u);
  const double root = std::sqrt(2.0), largest = 3 / root;
  const double e[] = {std::exp(1 / root - largest), std::exp(2 / root - largest), 1};
  const double sum = e[0] + e[1] + e[2];
  const double values[] = {10 * e[0] + 5 * e[2], 10 * e[1] + 5 * e[2]};
  const double printed[] = {0.140, 0.284, 0.576};
  for (std::size_t j = 0; j < 3; ++j) {
    const KeyStep& key = steps.keys[j];
    EXPECT_EQ(key.key, static_cast<std::int64_t>(j));
    EXPECT_EQ(key.row, static_cast<std::int64_t>(j));
    EXPECT_TRUE(key.live);
    EXPECT_EQ(key.dot, static_cast<float>(j + 1));
    EXPECT_NEAR(key.score, (static_cast<double>(j) + 1) / root, 3e-7);
    EXPECT_NEAR(key.block_exp, e[j], 1e-7);
    EXPECT_NEAR(key.weight, e[j] / sum, 1e-7);
    EXPECT_NEAR(key.weight, printed[j], 0.0005);
  }
  ASSERT_EQ(steps.blocks.size(), 1u);
  const BlockStep& block = steps.blocks[0];
  EXPECT_EQ(block.first_key, 0);
  EXPECT_EQ(block.end_key, 3);
  EXPECT_EQ(block.span, 0);
  EXPECT_EQ(block.max_before, -kInf);
  EXPECT_EQ(block.rescale, 1);
  EXPECT_NEAR(block.block_sum, sum, 3e-7);
  EXPECT_NEAR(block.after.max, largest, 3e-7);
  EXPECT_NEAR(block.after.sum, sum, 3e-7);
  ASSERT_EQ(block.block_values.size(), 2u);
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_NEAR(block.block_values[c], values[c], 2e-6);
    EXPECT_NEAR(block.after.accumulator[c], values[c], 2e-6);
    EXPECT_NEAR(steps.final_state.accumulator[c], values[c], 2e-6);
    EXPECT_NEAR(steps.out[c], values[c] / sum, 1e-6);
  }
  EXPECT_NEAR(steps.out[0], 4.28, 0.005);
  EXPECT_NEAR(steps.out[1], 5.72, 0.005);
  EXPECT_TRUE(steps.merges.empty());
  EXPECT_FALSE(steps.sink.has_value());
  EXPECT_NEAR(steps.lse, largest + std::log(sum), 3e-7);
}

// Three spans, one key in eight hidden, a sink; every number against double.
TEST(Steps, OfALongRowAreThoseOfDouble) {
  constexpr std::int64_t kKeys = 2500, kSize = 24;
  random::Generator generator(5);
  std::vector<float> q(kSize), k(kKeys * kSize), v(kKeys * 2);
  for (auto* numbers : {&q, &k, &v}) {
    for (float& x : *numbers) x = static_cast<float>(generator.normal());
  }
  std::vector<std::uint8_t> mask(kKeys);
  for (std::size_t j = 0; j < mask.size(); ++j) mask[j] = j % 8 != 3;
  AttentionOptions options;
  options.mask = TensorView(mask.data(), DType::kBool, {1, kKeys});
  options.sinks = {1.5f};
  const RowSteps steps = row_steps(
      {{q.data(), {1, kSize}}, {k.data(), {kKeys, kSize}}, {v.data(), {kKeys, 2}}}, {}, options);

  std::vector<double> score(kKeys, -INFINITY);
  double total = std::exp(1.5);
  for (std::int64_t j = 0; j < kKeys; ++j) {
    const KeyStep& key = steps.keys[static_cast<std::size_t>(j)];
    EXPECT_EQ(key.live, j % 8 != 3);
    if (!key.live) {
      EXPECT_EQ(key.dot, 0);
      EXPECT_EQ(key.score, 0);
      EXPECT_EQ(key.block_exp, 0);
      EXPECT_EQ(key.weight, 0);
      continue;
    }
    double dot = 0;
    for (std::int64_t c = 0; c < kSize; ++c) {
      dot += double{q[static_cast<std::size_t>(c)]} * k[static_cast<std::size_t>(j * kSize + c)];
    }
    score[static_cast<std::size_t>(j)] = dot / std::sqrt(24.0);
    total += std::exp(score[static_cast<std::size_t>(j)]);
    EXPECT_NEAR(key.dot, dot, 1e-5);
    EXPECT_NEAR(key.score, score[static_cast<std::size_t>(j)], 3e-6);
  }
  // e^x l for x = m: sums relative to any maximum, made absolute.
  double running = 0, running_value = 0, max = -INFINITY;
  std::int64_t span = -1;
  for (const BlockStep& block : steps.blocks) {
    if (block.span != span) running = running_value = 0, max = -INFINITY;
    span = block.span;
    double sum = 0, value = 0;
    const double before = max;
    for (std::int64_t j = block.first_key; j < block.end_key; ++j) {
      max = std::max(max, score[static_cast<std::size_t>(j)]);
    }
    for (std::int64_t j = block.first_key; j < block.end_key; ++j) {
      const double e = std::exp(score[static_cast<std::size_t>(j)] - max);
      EXPECT_NEAR(steps.keys[static_cast<std::size_t>(j)].block_exp, e, 1e-5);
      sum += e;
      value += e * v[static_cast<std::size_t>(2 * j + 1)];
    }
    EXPECT_NEAR(block.after.max, max, 3e-6);
    EXPECT_NEAR(block.block_sum, sum, 1e-5 * sum);
    EXPECT_NEAR(block.block_values[1], value, 3e-5 * sum);
    EXPECT_NEAR(block.rescale, before == -INFINITY ? 1 : std::exp(before - max), 1e-5);
    running += sum * std::exp(max);
    running_value += value * std::exp(max);
    EXPECT_NEAR(block.after.sum * std::exp(max), running, 1e-5 * running);
    EXPECT_NEAR(block.after.accumulator[1] * std::exp(max), running_value, 3e-5 * running);
  }
  ASSERT_EQ(steps.merges.size(), 2u);  // spans 0 and 1, then both and 2
  const MergeStep &low = steps.merges[0], &top = steps.merges[1];
  EXPECT_EQ((std::vector{low.first_span, low.middle_span, low.end_span}),
            (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ((std::vector{top.first_span, top.middle_span, top.end_span}),
            (std::vector<std::int64_t>{0, 2, 4}));
  const auto sum_of = [&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t j = begin; j < end; ++j) sum += std::exp(score[static_cast<std::size_t>(j)]);
    return sum;
  };
  EXPECT_NEAR(low.first.sum * std::exp(low.first.max), sum_of(0, 1024), 1e-5 * total);
  EXPECT_NEAR(low.second.sum * std::exp(low.second.max), sum_of(1024, 2048), 1e-5 * total);
  EXPECT_NEAR(low.merged.sum * std::exp(low.merged.max), sum_of(0, 2048), 1e-5 * total);
  EXPECT_NEAR(top.merged.sum * std::exp(top.merged.max), sum_of(0, kKeys), 1e-5 * total);
  EXPECT_EQ(steps.sink, 1.5f);
  EXPECT_NEAR(steps.final_state.sum * std::exp(steps.final_state.max), total, 1e-5 * total);
  EXPECT_NEAR(steps.lse, std::log(total), 1e-6);
}

TEST(Steps, NeitherDependOnTheCallersModeNorChangeIt) {
  random::Generator generator(8);
  std::vector<float> q(8), k(100 * 8), v(100 * 4);
  for (auto* numbers : {&q, &k, &v}) {
    for (float& x : *numbers) x = static_cast<float>(generator.normal());
  }
  v[5] = 1e-40f;
  const AttentionInputs inputs = {{q.data(), {1, 8}}, {k.data(), {100, 8}}, {v.data(), {100, 4}}};
  const RowSteps right = row_steps(inputs, {});
  for (CallerMode mode : kCallerModes) {
    const CallerEnvironment environment(mode);
    const RowSteps steps = row_steps(inputs, {});
    EXPECT_TRUE(environment.unchanged()) << name_of(mode);
    expect_same(steps.out, right.out, name_of(mode));
    expect_same({steps.lse}, {right.lse}, name_of(mode));
    for (std::size_t j = 0; j < 100; ++j) {
      expect_same({steps.keys[j].score, steps.keys[j].weight},
                  {right.keys[j].score, right.keys[j].weight}, name_of(mode));
    }
    for (std::size_t n = 0; n < steps.blocks.size(); ++n) {
      expect_same(steps.blocks[n].after.accumulator, right.blocks[n].after.accumulator,
                  name_of(mode));
    }
  }
}

TEST(Steps, OfARowThatSeesNothing) {
  const float q[] = {1, 1}, k[] = {1}, v[] = {7};
  AttentionOptions options;
  options.query_lengths = {1};
  options.sinks = {2};
  const AttentionInputs inputs = {{q, {2, 1}}, {k, {1, 1}}, {v, {1, 1}}};
  RowSteps steps = row_steps(inputs, {.row = 1}, options);
  EXPECT_TRUE(steps.keys.empty() && steps.blocks.empty() && steps.merges.empty());
  EXPECT_FALSE(steps.sink.has_value());  // beyond the live queries there is none
  EXPECT_EQ(steps.out, std::vector<float>{0});
  EXPECT_EQ(steps.lse, -kInf);

  // A block of hidden keys is a step that changes nothing.
  const bool hidden[] = {false};
  options.mask = TensorView(hidden, {1, 1});
  steps = row_steps(inputs, {}, options);
  ASSERT_EQ(steps.blocks.size(), 1u);
  EXPECT_FALSE(steps.keys[0].live);
  EXPECT_EQ(steps.blocks[0].rescale, 1);
  EXPECT_EQ(steps.blocks[0].after.sum, 0);
  EXPECT_EQ(steps.blocks[0].after.max, -kInf);
  EXPECT_EQ(steps.lse, 2);
}

template <class Exception, class F>
void expect_refused(F f, const std::string& part) {
  try {
    f();
    ADD_FAILURE() << "not refused: " << part;
  } catch (const Exception& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

TEST(Steps, RefuseWhatIsNotThere) {
  const float q[] = {1, 2}, k[] = {3, 4};
  const AttentionInputs inputs = {{q, {1, 2}}, {k, {1, 2}}, {k, {1, 2}}};
  for (std::int64_t wrong : {-1, 1}) {
    const std::string number = std::to_string(wrong);
    expect_refused<InvalidArgument>([&] { row_steps(inputs, {.batch = wrong}); },
                                    "batch: " + number);
    expect_refused<InvalidArgument>([&] { row_steps(inputs, {.head = wrong}); }, "head: " + number);
    expect_refused<InvalidArgument>([&] { row_steps(inputs, {.row = wrong}); }, "row: " + number);
  }
  expect_refused<InvalidArgument>([&] { row_steps({inputs.query, inputs.key, {}}, {}); }, "value");
  AttentionOptions packed;
  packed.query_cu_seqlens = packed.key_cu_seqlens = {0, 1};
  const TensorView three(q, {1, 1, 2});
  expect_refused<InvalidArgument>([&] { row_steps({three, three, three}, {.batch = 1}, packed); },
                                  "packed");
  const double wide[] = {1, 2};
  const TensorView double_row(wide, {1, 2});
  expect_refused<Unsupported>([&] { row_steps({double_row, double_row, double_row}, {}); },
                              "float64");
  AttentionOptions throwing;
  throwing.score_mod = [](const ScoreTile&) { throw std::string("mine"); };
  EXPECT_THROW(row_steps(inputs, {}, throwing), std::string);
}

}  // namespace
}  // namespace qkv::test
