// The training of the model of points in C: that of the C++ library, bit for bit.
#include <qkv_train.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "c/in_c.h"
#include "qkv/point_model.h"

namespace qkv::test {
namespace {

using nn::PointEvaluation;
using nn::PointScenes;
using nn::PointTraining;
using nn::PointTrainingOptions;
using nn::SceneLayout;

constexpr std::int64_t kPoints = QKV_SCENE_POINTS, kToken = QKV_SCENE_TOKEN;
constexpr std::uint64_t kSeed = 5;
constexpr std::int64_t kSchedule = 40;

PointScenes scenes_of(SceneLayout layout, std::int64_t count, std::uint64_t seed) {
  random::Generator rng(seed);
  PointScenes scenes;
  EXPECT_TRUE(make_point_scenes(rng, count, layout, scenes).ok());
  return scenes;
}

std::vector<float> tokens_of(const PointScenes& scenes) {
  const float* from = scenes.tokens.data<float>();
  return {from, from + scenes.tokens.size()};
}

class CTraining : public ::testing::Test {
 protected:
  CTraining() {
    qkv_execution execution;
    qkv_execution_init(&execution);
    execution.threads = 1;
    EXPECT_OK(qkv_point_training_create(kSeed, kSchedule, &execution, &in_c_));
    PointTrainingOptions options;
    options.seed = kSeed;
    options.steps = kSchedule;
    in_cpp_ = std::make_unique<PointTraining>(options);
  }
  ~CTraining() override { qkv_point_training_destroy(in_c_); }

  void step_both(std::int64_t count) {
    EXPECT_OK(qkv_point_training_step(in_c_, count));
    for (std::int64_t n = 0; n < count; ++n) EXPECT_TRUE(in_cpp_->step().ok());
  }
  std::vector<float> parameters() {
    std::int64_t count = 0;
    EXPECT_OK(qkv_point_training_read(in_c_, nullptr, 0, &count));
    std::vector<float> all(static_cast<std::size_t>(count));
    EXPECT_OK(qkv_point_training_read(in_c_, all.data(), count, &count));
    return all;
  }

  qkv_point_training* in_c_ = nullptr;
  std::unique_ptr<PointTraining> in_cpp_;
};

TEST(CScenes, AreThoseOfTheCppLibrary) {
  const std::int32_t layouts[] = {QKV_SCENES_SCATTERED, QKV_SCENES_RING, QKV_SCENES_CLUSTERS};
  for (const std::int32_t layout : layouts) {
    const PointScenes expected = scenes_of(static_cast<SceneLayout>(layout), 3, 8);
    std::vector<float> tokens(3 * kPoints * kToken);
    std::vector<std::int64_t> labels(3 * kPoints), near(3 * kPoints), alike(3 * kPoints);
    EXPECT_OK(qkv_point_scenes_fill(8, layout, 3, tokens.data(), labels.data(), near.data(),
                                    alike.data()));
    EXPECT_EQ(tokens, tokens_of(expected));
    EXPECT_EQ(labels, expected.labels);
    EXPECT_EQ(near, expected.near);
    EXPECT_EQ(alike, expected.alike);
    std::fill(near.begin(), near.end(), -1);
    EXPECT_OK(qkv_point_scenes_fill(8, layout, 3, nullptr, nullptr, near.data(), nullptr));
    EXPECT_EQ(near, expected.near);
  }
  EXPECT_OK(qkv_point_scenes_fill(8, 0, 0, nullptr, nullptr, nullptr, nullptr));
}

TEST_F(CTraining, HasTheBitsOfTheCppLibrary) {
  for (const std::int64_t count : {0, 1, 4}) {
    step_both(count);
    std::int64_t steps = -1;
    float loss = -1;
    EXPECT_OK(qkv_point_training_steps(in_c_, &steps));
    EXPECT_OK(qkv_point_training_loss(in_c_, &loss));
    EXPECT_EQ(steps, in_cpp_->steps());
    EXPECT_EQ(loss, in_cpp_->loss());
    std::vector<float> expected;
    for (const nn::Parameter& parameter : in_cpp_->parameters().all()) {
      const float* from = parameter.value.data<float>();
      expected.insert(expected.end(), from, from + parameter.value.size());
    }
    const std::vector<float> got = parameters();
    ASSERT_EQ(got.size(), expected.size());
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), 4 * got.size()), 0);
  }
}

TEST_F(CTraining, LooksAndIsEvaluated) {
  step_both(3);
  const PointScenes scenes = scenes_of(SceneLayout::kRing, 4, 21);
  std::vector<float> expected_weights, weights(4 * kPoints * QKV_POINT_HEADS * kPoints);
  std::vector<std::int64_t> expected_labels, labels(4 * kPoints);
  EXPECT_TRUE(in_cpp_->look(scenes, expected_weights, expected_labels).ok());
  EXPECT_OK(
      qkv_point_training_look(in_c_, tokens_of(scenes).data(), 4, weights.data(), labels.data()));
  EXPECT_EQ(weights, expected_weights);
  EXPECT_EQ(labels, expected_labels);
  for (std::size_t row = 0; row < weights.size(); row += kPoints) {  // each is a softmax
    double sum = 0;
    for (std::size_t j = 0; j < kPoints; ++j) sum += double{weights[row + j]};
    ASSERT_NEAR(sum, 1, 1e-5);
  }

  for (const std::int32_t without_heads : {0, 1}) {
    PointEvaluation expected;
    EXPECT_TRUE(in_cpp_->evaluate(scenes, without_heads != 0, expected).ok());
    qkv_point_evaluation got;
    qkv_point_evaluation_init(&got);
    EXPECT_OK(qkv_point_training_evaluate(in_c_, 21, QKV_SCENES_RING, 4, without_heads, &got));
    EXPECT_EQ(got.struct_size, sizeof(got));
    EXPECT_EQ(got.accuracy, expected.accuracy);
    for (std::size_t head = 0; head < QKV_POINT_HEADS; ++head) {
      EXPECT_EQ(got.near[head], expected.heads[head].near);
      EXPECT_EQ(got.alike[head], expected.heads[head].alike);
      EXPECT_EQ(got.accuracy_without[head], expected.heads[head].accuracy_without);
    }
  }
  const std::vector<float> before = parameters();
  qkv_point_evaluation again;
  qkv_point_evaluation_init(&again);
  EXPECT_OK(qkv_point_training_evaluate(in_c_, 21, QKV_SCENES_RING, 4, 1, &again));
  EXPECT_EQ(parameters(), before) << "looking changes nothing";
}

TEST_F(CTraining, Failures) {
  qkv_point_training* made = in_c_;
  EXPECT_FAILS(qkv_point_training_create(0, 0, nullptr, &made), QKV_INVALID_ARGUMENT,
               "steps: 0 of the schedule; pass at least 1");
  EXPECT_EQ(made, nullptr);
  EXPECT_FAILS(qkv_point_training_create(0, 1, nullptr, nullptr), QKV_INVALID_ARGUMENT,
               "training: null pointer");
  EXPECT_FAILS(qkv_point_training_step(in_c_, -1), QKV_INVALID_ARGUMENT,
               "count: -1 steps; pass 0 or more");
  EXPECT_FAILS(qkv_point_training_step(nullptr, 1), QKV_INVALID_ARGUMENT, "training");
  EXPECT_FAILS(qkv_point_training_steps(in_c_, nullptr), QKV_INVALID_ARGUMENT, "steps");
  EXPECT_FAILS(qkv_point_training_loss(in_c_, nullptr), QKV_INVALID_ARGUMENT, "loss");
  EXPECT_FAILS(qkv_point_scenes_fill(0, 3, 1, nullptr, nullptr, nullptr, nullptr),
               QKV_INVALID_ARGUMENT, "layout: 3 is none of");
  EXPECT_FAILS(qkv_point_scenes_fill(0, 0, -1, nullptr, nullptr, nullptr, nullptr),
               QKV_INVALID_ARGUMENT, "count: -1 scenes; pass 0 to 1048576");
  EXPECT_FAILS(qkv_point_training_look(in_c_, nullptr, 1, nullptr, nullptr), QKV_INVALID_ARGUMENT,
               "tokens");
  EXPECT_FAILS(qkv_point_training_look(in_c_, nullptr, std::int64_t{1} << 40, nullptr, nullptr),
               QKV_INVALID_ARGUMENT, "count: 1099511627776 scenes");
  EXPECT_FAILS(qkv_point_training_evaluate(in_c_, 0, 0, 1, 0, nullptr), QKV_INVALID_ARGUMENT,
               "evaluation");
  qkv_point_evaluation evaluation;
  std::memset(&evaluation, 0, sizeof(evaluation));
  EXPECT_FAILS(qkv_point_training_evaluate(in_c_, 0, 0, 1, 0, &evaluation), QKV_INVALID_ARGUMENT,
               "struct_size");
  float few[2] = {7, 7};
  std::int64_t count = 0;
  EXPECT_FAILS(qkv_point_training_read(in_c_, few, 2, &count), QKV_INVALID_ARGUMENT,
               "parameters: a capacity of 2 is too little");
  EXPECT_EQ(few[0], 7);
  EXPECT_FAILS(qkv_point_training_read(in_c_, few, 2, nullptr), QKV_INVALID_ARGUMENT, "count");
  qkv_point_training_destroy(nullptr);
}

}  // namespace
}  // namespace qkv::test
