// Tangents on random problems over all options: the double reference against finite differences of
// the double attention and of its double gradients, which tests/accuracy/gradient_test.cc judges;
// Hessians against their own symmetry; and the kernels against the double reference.
//
// The yardstick of the kernels: the largest error of a result is at most 2 e + 4 * 2^-24 times the
// largest sum of magnitudes it is made of, e being the error of the same formula in float32 by
// plain loops without fma. Where scores are in the hundreds ("sharp" problems) the largest error is
// a matter of luck; those beyond the bound are judged against up to 40 more plain programs, which
// add the products of scores in other orders (see tests/accuracy/gradient_test.cc).
#include "kernels/reference/tangent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <vector>

#include "kernels/reference/reference.h"
#include "qkv/tangent.h"
#include "support/gradient_copy.h"
#include "support/random_tangent.h"
#include "tensor/element.h"

namespace qkv::test {
namespace {

// ---- Finite differences -------------------------------------------------------------------------

Limits tiny_limits() {
  Limits limits;
  limits.query_lengths = {1, 2, 3, 7, 12, 33};
  limits.key_lengths = {1, 3, 8, 20, 33, 40};
  limits.sizes = {1, 2, 5, 8, 33};
  limits.special_values = false;
  return limits;
}

using Numbers = std::vector<double>;

Numbers numbers_of(const TensorView& view) {
  Numbers numbers;
  TensorView wide = view;
  for (; wide.rank < kMaxRank; ++wide.rank) wide.extents[wide.rank] = 1;
  for_each(wide,
           [&](std::int64_t offset, std::size_t) { numbers.push_back(load_double(view, offset)); });
  return numbers;
}

// The tensors of a problem, all in double and in memory of their own, that move along their
// tangents. Sinks are float32, so their places are rounded to where all steps are exact.
class Moving {
 public:
  explicit Moving(TangentProblem& t) : t_(t) {
    Problem& p = t_.gradient.forward;
    add(p.query, t.query);
    add(p.key, t.key);
    add(p.value, t.value);
    add(p.bias, t.bias);
    add(t.gradient.d_out, t.d_out);
    add(t.gradient.d_lse, t.d_lse);
    for (float& sink : p.options.sinks) {
      if (!std::isinf(sink)) sink = std::round(sink * 1024) / 1024;
    }
    sinks_ = p.options.sinks;
    if (!t.sinks.defined()) return;
    sink_moves_ = numbers_of(t.sinks);
    for (double& x : sink_moves_) x = std::round(x * 4) / 4;
    t.sinks = TensorView(sink_moves_.data(), {static_cast<std::int64_t>(sink_moves_.size())});
  }

  void to(double step) {
    for (const Tensor& tensor : tensors_) {
      for (std::size_t n = 0; n < tensor.start.size(); ++n) {
        tensor.place[n] = tensor.start[n] + step * tensor.move[n];
      }
    }
    for (std::size_t h = 0; h < sink_moves_.size(); ++h) {
      const double x = sinks_[h] + step * sink_moves_[h];
      t_.gradient.forward.options.sinks[h] = static_cast<float>(x);
      EXPECT_TRUE(std::isinf(x) || static_cast<double>(static_cast<float>(x)) == x);
    }
  }

 private:
  struct Tensor {
    double* place;
    Numbers start, move;
  };
  void add(TensorView& view, const TensorView& tangent) {
    if (!tangent.defined()) return;
    std::size_t count = 1;
    for (int axis = 0; axis < kMaxRank; ++axis) {
      count *= tangent.strides[axis] == 0 ? 1 : static_cast<std::size_t>(tangent.extents[axis]);
    }
    // Row-major but for broadcast dimensions, which only the bias has in its tangent too.
    if (view.strides != tangent.strides) {
      spread_.push_back(numbers_of(view));
      view.data = spread_.back().data();
      view.strides = tangent.strides;
    }
    auto* const place = static_cast<double*>(const_cast<void*>(view.data));
    const auto* move = static_cast<const double*>(tangent.data);
    tensors_.push_back({place, Numbers(place, place + count), Numbers(move, move + count)});
  }

  TangentProblem& t_;
  std::vector<Tensor> tensors_;
  std::deque<Numbers> spread_;
  std::vector<float> sinks_;
  Numbers sink_moves_;
};

// The derivative of values(), by differences of fourth order.
template <class Values>
Numbers slopes(Moving& moving, double step, Values values) {
  const auto at = [&](double x) {
    moving.to(x);
    return values();
  };
  const Numbers up = at(step), down = at(-step), far_up = at(2 * step), far_down = at(-2 * step);
  moving.to(0);
  Numbers slopes(up.size());
  for (std::size_t n = 0; n < slopes.size(); ++n) {
    const double near = (up[n] - down[n]) / (2 * step);
    const double far = (far_up[n] - far_down[n]) / (4 * step);
    slopes[n] = (4 * near - far) / 3;
  }
  return slopes;
}

struct Tally {
  std::int64_t numbers = 0, not_zero = 0;
  double worst = 0;
};

// Each tangent against the slope, as a share of the largest of all.
void compare(const Numbers& got, const Numbers& want, const std::string& where, Tally& tally) {
  ASSERT_EQ(got.size(), want.size());
  double largest = 0;
  for (double x : want) largest = std::max(largest, std::abs(x));
  for (std::size_t n = 0; n < got.size(); ++n) {
    const double error = std::abs(got[n] - want[n]) / (largest + 0.01);
    ++tally.numbers;
    tally.not_zero += got[n] != 0;
    tally.worst = std::max(tally.worst, error);
    ASSERT_LT(error, 1e-6) << got[n] << " for " << want[n] << ": " << where;
  }
}

// Where scores are in the hundreds, they move by hundreds too.
double step_for(const RandomTangent& random) {
  return random.levels().at("values") == "sharp" ? 0x1p-14 : 0x1p-11;
}

TEST(ReferenceTangent, OfAttentionIsThatOfDifferences) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RandomTangent random(62'000'000 + seed, tiny_limits());
    TangentCopy<double> copy(random.of_attention());
    TangentProblem& t = copy.problem();
    Moving moving(t);
    reference::tangents(t, random.mods64());
    const Numbers out = numbers_of(t.out), lse = numbers_of(t.lse);
    Problem p = t.gradient.forward;
    p.out = t.out;
    p.lse = t.lse;
    const auto with_results = [&] {
      p.options.sinks = t.gradient.forward.options.sinks;
      reference::attention(p, random.mods64().score_mod);
    };
    const double step = step_for(random);
    compare(out,
            slopes(moving, step,
                   [&] {
                     with_results();
                     return numbers_of(p.out);
                   }),
            "out of " + random.description(), tally);
    const auto finite_lse = [&] {
      with_results();
      Numbers numbers = numbers_of(p.lse);
      for (double& x : numbers) x = std::isinf(x) ? 0 : x;
      return numbers;
    };
    compare(lse, slopes(moving, step, finite_lse), "lse of " + random.description(), tally);
    if (testing::Test::HasFatalFailure()) return;
  }
  std::printf("%lld numbers, %lld not 0; the worst is off by %.1e of the largest\n",
              static_cast<long long>(tally.numbers), static_cast<long long>(tally.not_zero),
              tally.worst);
  EXPECT_GT(tally.not_zero, tally.numbers / 3);
}

TEST(ReferenceTangent, OfGradientsIsThatOfDifferences) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RandomTangent random(63'000'000 + seed, tiny_limits());
    TangentCopy<double> copy(random.of_gradients());
    TangentProblem& t = copy.problem();
    Moving moving(t);
    const GradientProblem& g = t.gradient;
    const std::pair<const char*, const MutableTensorView*> all[] = {{"d_query", &g.d_query},
                                                                    {"d_key", &g.d_key},
                                                                    {"d_value", &g.d_value},
                                                                    {"d_bias", &g.d_bias},
                                                                    {"d_sinks", &g.d_sinks}};
    for (const auto& [name, view] : all) {
      if (!view->defined()) continue;
      reference::tangents(t);
      const Numbers got = numbers_of(*view);
      const auto gradients = [&] {
        reference::gradients(g);
        return numbers_of(*view);
      };
      compare(got, slopes(moving, step_for(random), gradients),
              std::string(name) + " of " + random.description(), tally);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  std::printf("%lld numbers, %lld not 0; the worst is off by %.1e of the largest\n",
              static_cast<long long>(tally.numbers), static_cast<long long>(tally.not_zero),
              tally.worst);
  EXPECT_GT(tally.not_zero, tally.numbers / 3);
}

// ---- Symmetry -----------------------------------------------------------------------------------

// With d_out and d_lse fixed, d_query, d_key, d_value, d_bias are the gradient of one loss, so that
// u^T H v = v^T H u for any two directions.
TEST(ReferenceTangent, HessiansAreSymmetric) {
  double worst = 0;
  int problems = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomTangent random(64'000'000 + seed, tiny_limits());
    TangentCopy<double> copy(random.of_gradients());
    TangentProblem& t = copy.problem();
    t.d_out = t.d_lse = t.sinks = TensorView();
    const GradientProblem& g = t.gradient;
    if (!g.d_query.defined() || !g.d_key.defined() || !g.d_value.defined()) continue;
    if (t.bias.defined() != g.d_bias.defined()) t.bias = TensorView();
    ++problems;
    const std::pair<TensorView*, const MutableTensorView*> all[] = {
        {&t.query, &g.d_query}, {&t.key, &g.d_key}, {&t.value, &g.d_value}, {&t.bias, &g.d_bias}};
    random::Generator generator(seed);
    std::deque<Numbers> directions[2];
    for (auto& direction : directions) {
      for (const auto& [tangent, gradient] : all) {
        direction.emplace_back();
        if (!gradient->defined() || (tangent == &t.bias && !t.bias.defined())) continue;
        direction.back().resize(static_cast<std::size_t>(gradient->size()));
        for (double& x : direction.back()) x = generator.normal();
      }
    }
    double along[2] = {0, 0}, size = 0;
    for (int moved : {0, 1}) {
      for (std::size_t n = 0; n < 4; ++n) {
        const auto& [tangent, gradient] = all[n];
        if (directions[moved][n].empty()) continue;
        *tangent = *gradient;
        tangent->data = directions[moved][n].data();
      }
      reference::tangents(t);
      for (std::size_t n = 0; n < 4; ++n) {
        const auto& [tangent, gradient] = all[n];
        const Numbers& other = directions[1 - moved][n];
        if (other.empty()) continue;
        const auto* numbers = static_cast<const double*>(gradient->data);
        std::int64_t count = 1;
        for (int axis = 0; axis < kMaxRank; ++axis) {
          if (gradient->strides[axis] != 0) count *= gradient->extents[axis];
        }
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
          along[moved] += other[i] * numbers[i];
          size += std::abs(other[i] * numbers[i]);
        }
      }
    }
    // A bias that moves all keys of a row alike has a Hessian of nothing but rounding.
    const double error = std::abs(along[0] - along[1]) / (size + 1e-3);
    worst = std::max(worst, error);
    EXPECT_LT(error, 1e-10) << random.description();
  }
  std::printf("%d problems; the worst asymmetry is %.1e of the terms\n", problems, worst);
  EXPECT_GT(problems, 80);
}

// ---- The yardstick ------------------------------------------------------------------------------

struct Errors {
  int results = 0, beyond = 0;
  int several_orders = 0;  // results judged against several plain programs
  double worst = 0;        // as a share of what is allowed
};

struct Result {
  const char* name;
  MutableTensorView view;
};

std::vector<Result> results_of(const TangentProblem& t) {
  const GradientProblem& g = t.gradient;
  return {{"out", t.out},         {"lse", t.lse},       {"d_query", g.d_query}, {"d_key", g.d_key},
          {"d_value", g.d_value}, {"d_bias", g.d_bias}, {"d_sinks", g.d_sinks}};
}

double largest_difference(const TensorView& a, const TensorView& b) {
  const Numbers x = numbers_of(a), y = numbers_of(b);
  double largest = 0;
  for (std::size_t n = 0; n < x.size(); ++n) largest = std::max(largest, std::abs(x[n] - y[n]));
  return largest;
}

// Column order[c] of a row-major view goes to c, or back.
void reorder(const TensorView& view, const std::vector<std::int64_t>& order, bool back) {
  if (!view.defined() || view.size() == 0) return;
  auto* numbers = static_cast<float*>(const_cast<void*>(view.data));
  for (std::int64_t row = 0; row < view.size() / view.extents[3]; ++row) {
    const std::vector<float> before(numbers, numbers + view.extents[3]);
    for (std::size_t c = 0; c < before.size(); ++c) {
      const auto other = static_cast<std::size_t>(order[c]);
      numbers[back ? other : c] = before[back ? c : other];
    }
    numbers += view.extents[3];
  }
}

// The error of result n by a plain program that adds the products of scores in another order.
double error_in_other_order(const TangentProblem& t, const reference::ScoreMods64& mods,
                            std::uint64_t seed, std::size_t n, const TensorView& right) {
  TangentCopy<float> plain(t);
  TangentProblem& copy = plain.problem();
  const Problem& p = copy.gradient.forward;
  const std::vector<std::int64_t> order = random::Generator(seed).permutation(p.d_qk());
  const TensorView* const columns[] = {&p.query, &p.key, &copy.query, &copy.key};
  for (const TensorView* view : columns) {
    reorder(*view, order, false);
  }
  reference::tangents_plain_float(copy, mods);
  reorder(copy.gradient.d_query, order, true);
  reorder(copy.gradient.d_key, order, true);
  return largest_difference(results_of(copy)[n].view, right);
}

// Judges the results of `t`, which are computed. Those of other types are rounded further, and left
// out.
void judge(const TangentProblem& t, const reference::ScoreMods64& mods, const RandomTangent& random,
           Errors& errors) {
  TangentCopy<double> right(t);
  TangentCopy<float> plain(t);
  reference::LargestTangents s;
  reference::tangents(right.problem(), mods, &s);
  reference::tangents_plain_float(plain.problem(), mods);
  const double scale = std::abs(t.gradient.forward.scale64);
  const double sums[] = {s.out,     s.lse,    s.d_query * scale, s.d_key * scale,
                         s.d_value, s.d_bias, s.d_sinks};
  for (std::size_t n = 0; n < std::size(sums); ++n) {
    const auto [name, got] = results_of(t)[n];
    if (!got.defined() || got.dtype != DType::kFloat32) continue;
    const TensorView want = results_of(right.problem())[n].view;
    const double error = largest_difference(got, want);
    double of_plain = largest_difference(results_of(plain.problem())[n].view, want);
    const auto allowed = [&] {  // Subnormal results have an error of their own.
      return 2 * of_plain + 4 * 0x1p-24 * sums[n] + 0x1p-140;
    };
    if (error > allowed() && random.levels().at("values") == "sharp") {
      ++errors.several_orders;
      for (std::uint64_t seed = 1; seed <= 40 && error > allowed(); ++seed) {
        of_plain = std::max(of_plain, error_in_other_order(t, mods, seed, n, want));
      }
    }
    ++errors.results;
    errors.beyond += !(error <= allowed());
    errors.worst = std::max(errors.worst, error / allowed());
    EXPECT_LE(error, allowed()) << name << ": " << random.description();
  }
}

class TangentAccuracy : public testing::TestWithParam<Isa> {};

TEST_P(TangentAccuracy, WithinTheYardstick) {
  ExecutionOptions execution;
  execution.isa = GetParam();
  Limits limits = small_limits();
  limits.special_values = false;
  Errors errors;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomTangent random(65'000'000 + seed, limits);
    GradientInputs inputs = random.gradient().inputs;
    inputs.out = inputs.row_max = inputs.row_sum = inputs.lse = TensorView();
    const TangentProblem &forward = random.of_attention(), &backward = random.of_gradients();
    attention_tangents(inputs, forward.inputs, forward.outputs, forward.gradient.forward.options,
                       execution);
    judge(forward, random.mods64(), random, errors);
    attention_gradient_tangents(inputs, backward.inputs, backward.gradient.outputs,
                                backward.gradient.forward.options, execution);
    judge(backward, {}, random, errors);
  }
  std::printf(
      "%d results, %d of them against several orders; the worst error is %.2f of what is allowed, "
      "%d are beyond it\n",
      errors.results, errors.several_orders, errors.worst, errors.beyond);
  EXPECT_EQ(errors.beyond, 0);
  EXPECT_LE(errors.several_orders, 10);
}

INSTANTIATE_TEST_SUITE_P(Isas, TangentAccuracy, testing::ValuesIn(usable_isas()),
                         [](const auto& isa) { return std::string(name_of(isa.param)); });

}  // namespace
}  // namespace qkv::test
