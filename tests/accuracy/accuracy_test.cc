// Kernels against the double reference on random problems over all options. The yardstick: the
// largest error of a problem is at most 2 e + 4 * 2^-24 * max|v|, e being the error of the same
// formula in float32 by plain left-to-right loops without fma.
//
// Where scores are in the hundreds the softmax is nearly one-hot, the largest error hangs on the
// score of one pair, and e is a single draw of luck: about 2 % of such ("sharp") problems exceed
// the bound against one plain program. Those, and only those, are judged against the largest error
// of five plain programs that add the same products in different orders; the test says how many.
//
// Inputs up to 3e38 ("overflowing") overflow in float32 at other places in every order of adding,
// and softcap makes finite numbers of that again: only the bit suite judges them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "kernels/reference/reference.h"
#include "support/random_problem.h"
#include "tensor/element.h"

namespace qkv::test {
namespace {

// The results of one way of computing, in row-major order.
struct Results {
  std::vector<double> out, lse;
};

// The problem with outputs out and lse of type T in memory of ours. T is double for the reference.
template <class T, class F>
Results compute(const Problem& p, F run) {
  const std::int64_t rows = p.query.extents[0] * p.query_heads() * p.queries();
  std::vector<T> out(static_cast<std::size_t>(rows * p.d_v()), T(7));
  std::vector<T> lse(static_cast<std::size_t>(rows), T(7));
  Problem copy = p;
  const std::initializer_list<std::int64_t> shape = {p.query.extents[0], p.query_heads(),
                                                     p.queries(), p.d_v()};
  copy.out = MutableTensorView(out.data(), shape);
  copy.lse = MutableTensorView(lse.data(), {p.query.extents[0], p.query_heads(), p.queries(), 1});
  copy.weights = copy.row_max = copy.row_sum = MutableTensorView();
  run(copy);
  return {{out.begin(), out.end()}, {lse.begin(), lse.end()}};
}

// Attention by the public API into plain outputs.
Results compute_with(const Problem& p, Isa isa) {
  return compute<float>(p, [&](const Problem& plain) {
    AttentionOutputs outputs;
    outputs.out = plain.out;
    outputs.lse = plain.lse;
    outputs.lse.rank = 3;
    if (p.packed()) {
      outputs.out.rank = outputs.lse.rank = 3;
      outputs.out = plain.out.transposed(1, 2);  // [1, total, heads, d_v]
      for (int axis = 0; axis < 3; ++axis) {
        outputs.out.extents[axis] = outputs.out.extents[axis + 1];
        outputs.out.strides[axis] = outputs.out.strides[axis + 1];
      }
      outputs.out.rank = 3;
      outputs.lse.rank = 2;
      outputs.lse.extents = {plain.lse.extents[1], plain.lse.extents[2]};
      outputs.lse.strides = {plain.lse.strides[1], plain.lse.strides[2]};
    } else {
      const int drop = kMaxRank - p.inputs.query.rank;
      ASSERT_EQ(drop, 0);
    }
    ExecutionOptions execution;
    execution.isa = isa;
    attention(p.inputs, outputs, p.options, execution);
  });
}

double largest_magnitude(const TensorView& view) {
  double largest = 0;
  for (std::int64_t a = 0; a < view.extents[0]; ++a)
    for (std::int64_t b = 0; b < view.extents[1]; ++b)
      for (std::int64_t c = 0; c < view.extents[2]; ++c)
        for (std::int64_t d = 0; d < view.extents[3]; ++d) {
          const double x = std::abs(load_double(view, offset_of(view, a, b, c, d)));
          if (std::isfinite(x)) largest = std::max(largest, x);
        }
  return largest;
}

// Largest errors of `got` and of `plain` where all three are finite. Elsewhere `got` must be like
// one of the two others (where a NaN and an Inf may change places in another order of adding).
struct Errors {
  double got = 0, plain = 0;
  bool same_kind = true;
};

bool alike(double x, double y) { return std::isnan(x) ? std::isnan(y) : x == y; }

Errors errors(const std::vector<double>& got, const std::vector<double>& plain,
              const std::vector<double>& right) {
  Errors e;
  for (std::size_t n = 0; n < right.size(); ++n) {
    if (std::isfinite(right[n]) && std::isfinite(plain[n]) && std::isfinite(got[n])) {
      e.got = std::max(e.got, std::abs(got[n] - right[n]));
      e.plain = std::max(e.plain, std::abs(plain[n] - right[n]));
    } else if (!alike(got[n], right[n]) && !alike(got[n], plain[n])) {
      e.same_kind = e.same_kind && !std::isfinite(plain[n]) && !std::isfinite(got[n]);
    }
  }
  return e;
}

// The problem with the columns of query and key exchanged in the same random way: the same scores,
// added in another order. `memory` holds the new query and key.
Problem with_other_order(const Problem& p, std::uint64_t seed, std::vector<float>* memory) {
  const std::vector<std::int64_t> order = random::Generator(seed).permutation(p.d_qk());
  Problem other = p;
  for (TensorView* view : {&other.query, &other.key}) {
    const TensorView from = *view;
    std::vector<float>& to = memory[view == &other.key ? 1 : 0];
    to.clear();
    for (std::int64_t a = 0; a < from.extents[0]; ++a)
      for (std::int64_t b = 0; b < from.extents[1]; ++b)
        for (std::int64_t c = 0; c < from.extents[2]; ++c)
          for (std::int64_t d : order) to.push_back(load_float(from, offset_of(from, a, b, c, d)));
    *view =
        TensorView(to.data(), {from.extents[0], from.extents[1], from.extents[2], from.extents[3]});
  }
  return other;
}

struct Tally {
  int problems = 0;
  double worst = 0;        // error as a share of what is allowed
  int several_orders = 0;  // problems judged against five plain programs
};

void check(const RandomProblem& random, Isa isa, Tally& tally) {
  ++tally.problems;
  const Problem& p = random.problem();
  const auto reference = [&](const Problem& q) { reference::attention(q, random.score_mod64()); };
  const auto plain_float = [&](const Problem& q) {
    reference::attention_plain_float(q, random.score_mod64());
  };
  const Results right = compute<double>(p, reference), plain = compute<float>(p, plain_float),
                got = compute_with(p, isa);
  Errors out = errors(got.out, plain.out, right.out);
  const double floor = 4 * 0x1p-24 * largest_magnitude(p.value);
  if (out.got > 2 * out.plain + floor && random.levels().at("values") == "sharp") {
    ++tally.several_orders;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      std::vector<float> memory[2];
      const Problem other = with_other_order(p, seed, memory);
      const Results again = compute<float>(other, plain_float);
      out.plain = std::max(out.plain, errors(got.out, again.out, right.out).plain);
    }
  }
  const double bound = 2 * out.plain + floor;
  EXPECT_LE(out.got, bound) << random.description();
  EXPECT_TRUE(out.same_kind) << "another NaN or Inf: " << random.description();
  const Errors lse = errors(got.lse, plain.lse, right.lse);
  double largest_lse = 1;
  for (double x : right.lse) {
    if (std::isfinite(x)) largest_lse = std::max(largest_lse, std::abs(x));
  }
  EXPECT_LE(lse.got, 2 * lse.plain + 4 * 0x1p-24 * largest_lse) << random.description();
  EXPECT_TRUE(lse.same_kind) << "another LSE: " << random.description();
  if (bound > 0) tally.worst = std::max(tally.worst, out.got / bound);
}

class Accuracy : public testing::TestWithParam<Isa> {};

TEST_P(Accuracy, WithinTheYardstick) {
  Coverage coverage;
  Tally tally;
  constexpr int kProblems = 1600, kLongProblems = 100;
  for (int n = 0; n < kProblems; ++n) {
    const RandomProblem random(9'000'000 + static_cast<std::uint64_t>(n), small_limits());
    if (random.levels().at("values") == "overflowing") continue;
    coverage.add(random.levels());
    check(random, GetParam(), tally);
  }
  for (int n = 0; n < kLongProblems; ++n) {
    const RandomProblem random(9'500'000 + static_cast<std::uint64_t>(n), span_crossing_limits());
    check(random, GetParam(), tally);
  }
  std::printf(
      "%d problems, %d of them against several orders; the worst error is %.2f of what is "
      "allowed\n%s",
      tally.problems, tally.several_orders, tally.worst, coverage.table().c_str());
  EXPECT_LE(tally.several_orders, kProblems / 100);
  EXPECT_GT(coverage.share(), 0.97);
}

INSTANTIATE_TEST_SUITE_P(Isas, Accuracy, testing::ValuesIn(usable_isas()),
                         [](const auto& isa) { return std::string(name_of(isa.param)); });

}  // namespace
}  // namespace qkv::test
