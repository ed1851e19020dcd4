// Scenes are what they say, and the model of points learns them, the same everywhere.
#include "qkv/point_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "qkv/cpu.h"

namespace qkv::nn {
namespace {

PointScenes scenes_of(SceneLayout layout, std::int64_t count, std::uint64_t seed = 3) {
  random::Generator rng(seed);
  PointScenes scenes;
  EXPECT_TRUE(make_point_scenes(rng, count, layout, scenes).ok());
  return scenes;
}

double distance(const float* a, const float* b, std::int64_t first, std::int64_t count) {
  double sum = 0;
  for (std::int64_t n = first; n < first + count; ++n) {
    const double off = static_cast<double>(a[n]) - static_cast<double>(b[n]);
    sum += off * off;
  }
  return std::sqrt(sum);
}

TEST(PointScenes, HaveOneNearAndOneAlikePoint) {
  for (const SceneLayout layout :
       {SceneLayout::kScattered, SceneLayout::kRing, SceneLayout::kClusters}) {
    const PointScenes scenes = scenes_of(layout, 50);
    int alike_found = 0, far = 0;
    for (std::int64_t n = 0; n < 50 * kScenePoints; ++n) {
      const std::int64_t scene = n / kScenePoints * kScenePoints;
      const float* all = scenes.tokens.data<float>() + scene * kTokenSize;
      const float* own = all + (n - scene) * kTokenSize;
      std::int64_t nearest = -1, most_alike = -1;
      double least = 1e9, least_unlike = 1e9;
      for (std::int64_t other = 0; other < kScenePoints; ++other) {
        const float* token = all + other * kTokenSize;
        if (token == own) continue;
        const double off = distance(own, token, 0, 2);
        const double unlike = distance(own, token, kTokenPlaces, kTokenFeatures);
        if (off < least) least = off, nearest = other;
        if (unlike < least_unlike) least_unlike = unlike, most_alike = other;
      }
      const auto at = static_cast<std::size_t>(n);
      ASSERT_EQ(nearest, scenes.near[at]);
      EXPECT_LE(least, 0.0601);
      EXPECT_GE(least, 0.0299);
      alike_found += most_alike == scenes.alike[at];
      EXPECT_NE(scenes.alike[at], scenes.near[at]);
      far += distance(own, all + scenes.alike[at] * kTokenSize, 0, 2) > 0.06;
      const auto bit = [&](std::int64_t point) {
        return all[point * kTokenSize + kTokenSize - 1] > 0 ? 1 : 0;
      };
      ASSERT_EQ(scenes.labels[at], 2 * bit(nearest) + bit(scenes.alike[at]));
      for (std::int64_t c = 0; c < 2; ++c) {
        ASSERT_GE(own[c], 0);
        ASSERT_LE(own[c], 1);
      }
      // sin and cos of pi, 2 pi, 4 pi, 8 pi times x, then y.
      for (std::int64_t n4 = 0; n4 < 8; ++n4) {
        const double angle =
            std::acos(-1.0) * std::exp2(static_cast<double>(n4 % 4)) * double{own[n4 / 4]};
        ASSERT_NEAR(own[2 + 2 * n4], std::sin(angle), 1e-5);
        ASSERT_NEAR(own[3 + 2 * n4], std::cos(angle), 1e-5);
      }
    }
    EXPECT_EQ(alike_found, 50 * kScenePoints);
    EXPECT_GT(far, 50 * kScenePoints * 9 / 10);
  }
}

std::vector<float> trained(int threads, Isa isa, int steps) {
  PointTrainingOptions options;
  options.seed = 11;
  options.execution.threads = threads;
  options.execution.isa = isa;
  PointTraining training(options);
  for (int n = 0; n < steps; ++n) EXPECT_TRUE(training.step().ok());
  std::vector<float> all;
  for (const Parameter& p : training.parameters().all()) {
    all.insert(all.end(), p.value.data<float>(), p.value.data<float>() + p.value.size());
  }
  return all;
}

TEST(PointTraining, HasTheSameBitsOnEveryIsaAndAnyThreads) {
  const std::vector<float> expected = trained(1, Isa::kBest, 12);
  for (const Isa isa : usable_isas()) {
    for (const int threads : {0, 1, 3}) {
      const std::vector<float> other = trained(threads, isa, 12);
      ASSERT_EQ(other.size(), expected.size());
      EXPECT_EQ(std::memcmp(other.data(), expected.data(), other.size() * sizeof(float)), 0)
          << name_of(isa) << ", threads " << threads;
    }
  }
}

TEST(PointTraining, LearnsToLookNearAndAtWhatIsAlike) {
  PointTrainingOptions options;
  options.seed = 0;
  options.steps = 400;
  options.execution.threads = 1;
  PointTraining training(options);
  while (training.steps() < 400) ASSERT_TRUE(training.step().ok());
  PointEvaluation of;
  ASSERT_TRUE(training.evaluate(scenes_of(SceneLayout::kScattered, 100, 9), true, of).ok());
  EXPECT_GT(of.accuracy, 0.9);  // chance is 0.25; one of the two points known gives 0.5
  ASSERT_EQ(of.heads.size(), 2u);
  for (const PointEvaluation::Head& head : of.heads) EXPECT_LT(head.accuracy_without, 0.65);
}

// Points in another order give the answers in that order.
TEST(PointTraining, WithoutHeadsHasNoneToMeasure) {
  PointTrainingOptions options;
  options.model.heads = 0;
  PointTraining training(options);
  PointEvaluation evaluation;
  const PointScenes scenes = scenes_of(SceneLayout::kScattered, 2);
  ASSERT_TRUE(training.evaluate(scenes, true, evaluation).ok());
  EXPECT_TRUE(evaluation.heads.empty());
}

TEST(PointModel, IsPermutationEquivariant) {
  PointTrainingOptions options;
  PointTraining training(options);
  PointScenes scenes = scenes_of(SceneLayout::kScattered, 1);
  Tape tape;
  const TensorView before = tape.value(training.model()(tape, scenes));
  ASSERT_TRUE(tape.status().ok());
  const std::vector<float> first(static_cast<const float*>(before.data),
                                 static_cast<const float*>(before.data) + before.size());
  const std::vector<std::int64_t> order = random::Generator(4).permutation(kScenePoints);
  const PointScenes original = scenes_of(SceneLayout::kScattered, 1);
  for (std::int64_t n = 0; n < kScenePoints; ++n) {
    std::memcpy(scenes.tokens.data<float>() + n * kTokenSize,
                original.tokens.data<float>() + order[static_cast<std::size_t>(n)] * kTokenSize,
                kTokenSize * sizeof(float));
  }
  tape.clear();
  const TensorView after = tape.value(training.model()(tape, scenes));
  ASSERT_TRUE(tape.status().ok());
  for (std::int64_t n = 0; n < kScenePoints; ++n) {
    for (std::int64_t c = 0; c < kSceneLabels; ++c) {
      EXPECT_NEAR(
          static_cast<const float*>(after.data)[n * kSceneLabels + c],
          first[static_cast<std::size_t>(order[static_cast<std::size_t>(n)] * kSceneLabels + c)],
          1e-5);
    }
  }
}

}  // namespace
}  // namespace qkv::nn
