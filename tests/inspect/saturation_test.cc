// The norm of the softmax's Jacobian: known values, and rows that are nearly saturated.
#include "qkv/saturation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "qkv/attention.h"
#include "qkv/random.h"
#include "support/caller_environment.h"

namespace qkv::test {
namespace {

TEST(SoftmaxJacobianNorm, OfEvenRows) {
  for (std::size_t r : {1, 2, 4, 64, 1024}) {  // 1 / r is exact
    const std::vector<float> even(r, 1.0f / static_cast<float>(r));
    const auto count = static_cast<double>(r);
    EXPECT_DOUBLE_EQ(softmax_jacobian_norm(even), std::sqrt((count - 1) / (count * count))) << r;
  }
  const std::vector<float> thirds(3, 1.0f / 3);
  EXPECT_NEAR(softmax_jacobian_norm(thirds), std::sqrt(2.0) / 3, 1e-7);
}

TEST(SoftmaxJacobianNorm, OfRowsThatOneKeyHas) {
  EXPECT_EQ(softmax_jacobian_norm({}), 0);
  EXPECT_EQ(softmax_jacobian_norm(std::vector<float>{0, 0, 0}), 0);  // a row without a key
  EXPECT_EQ(softmax_jacobian_norm(std::vector<float>{0, 1, 0}), 0);
  // (1 - e, e): 2 e (1 - e), also where 1 - e is 1 in float32 and where it is not.
  for (float e : {0.25f, 1e-3f, 6e-8f, 1e-12f, 1e-30f, 1e-40f}) {
    const float most = 1 - e;
    const double exact = 2 * double{e} * (e > 1e-7f ? double{most} : 1.0);
    EXPECT_NEAR(softmax_jacobian_norm(std::vector<float>{e, most}), exact, 2e-7 * exact) << e;
    EXPECT_NEAR(softmax_jacobian_norm(std::vector<float>{most, e}), exact, 2e-7 * exact) << e;
  }
  // One key leaves e to 100 others: p (1 - p) of the large one, and 100 products p e / 100.
  std::vector<float> row(101, 1e-14f);
  row[40] = 1;
  const double e = 100 * double{1e-14f};
  EXPECT_NEAR(softmax_jacobian_norm(row), std::sqrt(e * e + 3 * e * e / 100), 1e-9 * e);
}

// Against derivatives: the weights of attention in double, moved by a small step in each score.
TEST(SoftmaxJacobianNorm, IsThatOfDifferences) {
  random::Generator generator(11);
  for (const bool with_sink : {false, true}) {
    std::vector<double> score(20);
    for (double& s : score) s = 2 * generator.normal();
    const double sink = 1.5;
    const auto softmax = [&](const std::vector<double>& s) {
      double sum = with_sink ? std::exp(sink) : 0;
      for (double x : s) sum += std::exp(x);
      std::vector<double> p;
      for (double x : s) p.push_back(std::exp(x) / sum);
      return p;
    };
    double square = 0;
    constexpr double kStep = 1e-5;
    for (std::size_t j = 0; j < score.size(); ++j) {
      std::vector<double> up = score, down = score;
      up[j] += kStep;
      down[j] -= kStep;
      const std::vector<double> above = softmax(up), below = softmax(down);
      for (std::size_t i = 0; i < score.size(); ++i) {
        const double slope = (above[i] - below[i]) / (2 * kStep);
        square += slope * slope;
      }
    }
    std::vector<float> q = {1}, k, weights(score.size()), lse(1);
    for (double s : score) k.push_back(static_cast<float>(s));
    const auto n = static_cast<std::int64_t>(score.size());
    AttentionOptions options;
    if (with_sink) options.sinks = {static_cast<float>(sink)};
    AttentionOutputs outputs;
    outputs.weights = MutableTensorView(weights.data(), {1, n});
    outputs.lse = MutableTensorView(lse.data(), {1});
    const TensorView keys(k.data(), {n, 1});
    attention({TensorView(q.data(), {1, 1}), keys, keys}, outputs, options);
    const double share = with_sink ? std::exp(sink - lse[0]) : 0;
    EXPECT_NEAR(softmax_jacobian_norm(weights, share), std::sqrt(square), 1e-6);
    if (with_sink) {
      EXPECT_GT(std::sqrt(square) - softmax_jacobian_norm(weights), 1e-3) << "it matters";
    }
  }
}

TEST(SoftmaxJacobianNorm, OfASinkThatHasNearlyAll) {
  // p (1 - p), with 1 - p the sink's share.
  EXPECT_DOUBLE_EQ(softmax_jacobian_norm(std::vector<float>{0x1p-60f}, 1.0), 0x1p-60);
  EXPECT_DOUBLE_EQ(softmax_jacobian_norm(std::vector<float>{1}, 1e-20), 1e-20);
  EXPECT_DOUBLE_EQ(softmax_jacobian_norm(std::vector<float>{0.75f}, 0.25), 0.1875);
}

TEST(SoftmaxJacobianNorm, NeitherDependsOnTheCallersModeNorChangesIt) {
  const std::vector<float> row = {0.7f, 1e-40f, 0.3f, 3e-21f};
  const double right = softmax_jacobian_norm(row, 0x1p-1070);
  for (CallerMode mode : kCallerModes) {
    const CallerEnvironment environment(mode);
    const double got = softmax_jacobian_norm(row, 0x1p-1070);
    EXPECT_EQ(std::memcmp(&got, &right, 8), 0) << name_of(mode);
    EXPECT_TRUE(environment.unchanged()) << name_of(mode);
  }
}

TEST(SoftmaxJacobianNorm, RefusesWhatIsNoWeight) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (float bad : {-1e-9f, -1.0f, 1.5f, kInf, -kInf, std::nanf("")}) {
    for (std::size_t place : {0, 2}) {
      std::vector<float> row = {0.25f, 0.25f, 0.5f};
      row[place] = bad;
      try {
        softmax_jacobian_norm(row);
        ADD_FAILURE() << bad << " was taken";
      } catch (const InvalidArgument& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("weights: entry " + std::to_string(place)));
      }
    }
    EXPECT_THROW(softmax_jacobian_norm(std::vector<float>{0.5f}, bad), InvalidArgument);
  }
}

}  // namespace
}  // namespace qkv::test
