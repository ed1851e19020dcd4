// Tangents by every usable instruction set and number of threads have the bits of the scalar
// program `exact`, on random problems that draw every option jointly.
//
// QKV_TANGENT_PROBLEMS: small problems in each shard (default QKV_BITS_DEFAULT); an eighth as many
// that cross a span edge.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "kernels/exact/tangent.h"
#include "qkv/tangent.h"
#include "support/caller_environment.h"
#include "support/random_tangent.h"
#include "tensor/element.h"

namespace qkv::test {
namespace {

constexpr int kShards = 4;
constexpr int kSmallPerLong = 8;

int problems_of_a_kind() {
  const char* text = std::getenv("QKV_TANGENT_PROBLEMS");
  return text == nullptr ? QKV_BITS_DEFAULT : std::atoi(text);
}

struct Tally {
  std::int64_t problems = 0, runs = 0, differing = 0;
  std::int64_t values = 0, ordinary = 0;  // numbers; those finite and not zero
  Coverage coverage;
};

void count_values(const MutableTensorView& view, Tally& tally) {
  if (!view.defined() || view.dtype != DType::kFloat32) return;
  for (std::int64_t a = 0; a < view.extents[0]; ++a)
    for (std::int64_t b = 0; b < view.extents[1]; ++b)
      for (std::int64_t c = 0; c < view.extents[2]; ++c)
        for (std::int64_t d = 0; d < view.extents[3]; ++d) {
          const float x = load_float(view, offset_of(view, a, b, c, d));
          ++tally.values;
          tally.ordinary += std::isfinite(x) && x != 0;
        }
}

void check(RandomTangent& random, Tally& tally) {
  const TangentProblem& forward = random.of_attention();
  const TangentProblem& backward = random.of_gradients();
  const GradientProblem& g = backward.gradient;
  random.clear_outputs();
  exact::tangents(forward);
  exact::tangents(backward);
  const std::vector<std::byte> want = random.output_bytes();
  ++tally.problems;
  tally.coverage.add(random.levels());
  for (const MutableTensorView* view : {&forward.out, &g.d_query, &g.d_key, &g.d_value}) {
    count_values(*view, tally);
  }
  std::uint64_t turn = random.seed();
  for (Isa isa : usable_isas()) {
    for (int n = 0; n < 2; ++n, ++turn) {
      ExecutionOptions execution;
      execution.isa = isa;
      execution.threads = static_cast<int>(turn % 5);  // 0: all
      const CallerMode mode = kCallerModes[turn / 5 % 4];
      random.clear_outputs();
      bool mode_kept = false;
      {
        const CallerEnvironment environment(mode);
        attention_tangents(forward.gradient.inputs, forward.inputs, forward.outputs,
                           forward.gradient.forward.options, execution);
        attention_gradient_tangents(g.inputs, backward.inputs, g.outputs, g.forward.options,
                                    execution);
        mode_kept = environment.unchanged();
      }
      ++tally.runs;
      const bool same = random.output_bytes() == want;
      tally.differing += !same;
      const std::string where = std::string(name_of(isa)) + ", " +
                                std::to_string(execution.threads) + " threads, " + name_of(mode) +
                                ", " + random.description();
      if (!same && tally.differing < 5) ADD_FAILURE() << "other bits: " << where;
      EXPECT_TRUE(mode_kept) << "the caller's mode was changed: " << where;
    }
  }
}

double share_ordinary(const Tally& tally) {
  return static_cast<double>(tally.ordinary) /
         static_cast<double>(std::max<std::int64_t>(1, tally.values));
}

void print(const char* kind, const Tally& tally) {
  std::printf(
      "%s problems: %lld, %lld runs, %lld differ; %.1f %% of tangents are finite and not zero\n",
      kind, static_cast<long long>(tally.problems), static_cast<long long>(tally.runs),
      static_cast<long long>(tally.differing), 100 * share_ordinary(tally));
}

Limits span_crossing_tangent_limits() {  // `exact` makes each pair up to eight times
  Limits limits = span_crossing_gradient_limits();
  limits.query_lengths = {17, 65, 130, 1025, 1100};
  limits.key_lengths = {33, 70, 1025, 1100, 2049};
  limits.sizes = {1, 3, 8, 17};
  return limits;
}

class TangentBits : public testing::TestWithParam<int> {};

TEST_P(TangentBits, EqualExact) {
  Tally small_tally, tally;
  const int count = problems_of_a_kind();
  const auto base = 44'000'000 + static_cast<std::uint64_t>(GetParam()) * 1'000'000;
  for (int n = 0; n < count; ++n) {
    // One NaN or Inf spreads to most tangents, so that every second problem is without.
    Limits limits = small_limits();
    limits.special_values = n % 2 == 0;
    RandomTangent small(base + static_cast<std::uint64_t>(n), limits);
    check(small, small_tally);
    if (n % kSmallPerLong != 0) continue;
    RandomTangent crossing(base + 500'000 + static_cast<std::uint64_t>(n),
                           span_crossing_tangent_limits());
    check(crossing, tally);
  }
  print("small", small_tally);
  print("long", tally);
  EXPECT_EQ(small_tally.differing + tally.differing, 0);
  if (count >= 40) {
    EXPECT_GT(share_ordinary(small_tally), 0.3) << "too many tangents prove nothing";
    EXPECT_GT(tally.ordinary, 10'000) << "too few tangents prove something";
    EXPECT_GT(small_tally.coverage.share(), 0.75) << "too few pairs of options met";
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, TangentBits, testing::Range(0, kShards));

}  // namespace
}  // namespace qkv::test
