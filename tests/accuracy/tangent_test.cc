// Tangents on random problems over all options: the double reference against finite differences of
// the double attention and of its double gradients, which tests/accuracy/gradient_test.cc judges.
#include "kernels/reference/tangent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <vector>

#include "kernels/reference/reference.h"
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

}  // namespace
}  // namespace qkv::test
