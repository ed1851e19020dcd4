#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "boundary.h"
#include "convert.h"
#include "qkv/point_model.h"
#include "qkv_train.h"
#include "structs.h"

using qkv::Status;
using qkv::nn::PointEvaluation;
using qkv::nn::PointScenes;
using qkv::nn::PointTraining;
using qkv::nn::SceneLayout;
using namespace qkv::c;

static_assert(QKV_SCENE_POINTS == qkv::nn::kScenePoints);
static_assert(QKV_SCENE_TOKEN == qkv::nn::kTokenSize);
static_assert(QKV_SCENE_LABELS == qkv::nn::kSceneLabels);
static_assert(QKV_SCENES_CLUSTERS == static_cast<int>(SceneLayout::kClusters));

struct qkv_point_training {
  explicit qkv_point_training(const qkv::nn::PointTrainingOptions& options) : training(options) {}
  PointTraining training;
};

namespace {

constexpr std::int64_t kMostScenes = 1 << 20;  // 2.8 GB of tokens; numbers beyond are mistakes

Status check_count(std::int64_t count) {
  if (count >= 0 && count <= kMostScenes) return {};
  return qkv::invalid_argument("count: " + std::to_string(count) + " scenes; pass 0 to " +
                               std::to_string(kMostScenes));
}

Status draw_scenes(std::uint64_t seed, std::int32_t layout, std::int64_t count,
                   PointScenes& scenes) {
  if (Status s = check_count(count); !s.ok()) return s;
  if (layout < QKV_SCENES_SCATTERED || layout > QKV_SCENES_CLUSTERS) {
    return qkv::invalid_argument("layout: " + std::to_string(layout) +
                                 " is none of QKV_SCENES_SCATTERED, _RING and _CLUSTERS, 0 to 2");
  }
  qkv::random::Generator rng(seed);
  return qkv::nn::make_point_scenes(rng, count, static_cast<SceneLayout>(layout), scenes);
}

template <class T>
void copy(const std::vector<T>& from, T* to) {
  if (to != nullptr) std::copy(from.begin(), from.end(), to);
}

}  // namespace

qkv_status qkv_point_scenes_fill(uint64_t seed, int32_t layout, int64_t count, float* tokens,
                                 int64_t* labels, int64_t* near, int64_t* alike) {
  return guarded([&]() -> Status {
    PointScenes scenes;
    if (Status s = draw_scenes(seed, layout, count, scenes); !s.ok()) return s;
    if (tokens != nullptr) {
      std::copy_n(scenes.tokens.data<float>(), scenes.tokens.size(), tokens);
    }
    copy(scenes.labels, labels);
    copy(scenes.near, near);
    copy(scenes.alike, alike);
    return {};
  });
}

qkv_status qkv_point_training_create(uint64_t seed, int64_t steps, const qkv_execution* execution,
                                     qkv_point_training** training) {
  return guarded([&]() -> Status {
    if (training == nullptr) return null_argument("training");
    *training = nullptr;
    if (steps < 1) {
      return qkv::invalid_argument("steps: " + std::to_string(steps) +
                                   " of the schedule; pass at least 1");
    }
    qkv::ExecutionOptions how;
    CallbackRecord callbacks;
    if (Status s = to_execution(execution, callbacks, how); !s.ok()) return s;
    qkv::nn::PointTrainingOptions options;
    options.seed = seed;
    options.steps = steps;
    options.execution.threads = how.threads;
    options.execution.isa = how.isa;
    auto made = std::make_unique<qkv_point_training>(options);
    if (Status s = made->training.parameters().status(); !s.ok()) return s;
    *training = made.release();
    return {};
  });
}

qkv_status qkv_point_training_step(qkv_point_training* training, int64_t count) {
  return guarded([&]() -> Status {
    if (training == nullptr) return null_argument("training");
    if (count < 0) {
      return qkv::invalid_argument("count: " + std::to_string(count) + " steps; pass 0 or more");
    }
    for (std::int64_t n = 0; n < count; ++n) {
      if (Status s = training->training.step(); !s.ok()) return s;
    }
    return {};
  });
}

qkv_status qkv_point_training_steps(const qkv_point_training* training, int64_t* steps) {
  return guarded([&]() -> Status {
    if (training == nullptr) return null_argument("training");
    if (steps == nullptr) return null_argument("steps");
    *steps = training->training.steps();
    return {};
  });
}

qkv_status qkv_point_training_loss(const qkv_point_training* training, float* loss) {
  return guarded([&]() -> Status {
    if (training == nullptr) return null_argument("training");
    if (loss == nullptr) return null_argument("loss");
    *loss = training->training.loss();
    return {};
  });
}

qkv_status qkv_point_training_look(qkv_point_training* training, const float* tokens, int64_t count,
                                   float* weights, int64_t* labels) {
  return guarded([&]() -> Status {
    if (training == nullptr) return null_argument("training");
    if (Status s = check_count(count); !s.ok()) return s;
    if (Status s = check_array("tokens", tokens, count); !s.ok()) return s;
    PointScenes scenes;
    const std::int64_t shape[] = {count, QKV_SCENE_POINTS, QKV_SCENE_TOKEN};
    if (Status s = qkv::allocate(qkv::DType::kFloat32, shape, scenes.tokens); !s.ok()) return s;
    std::copy_n(tokens, scenes.tokens.size(), scenes.tokens.data<float>());
    scenes.count = count;
    std::vector<float> looks;
    std::vector<std::int64_t> found;
    if (Status s = training->training.look(scenes, looks, found); !s.ok()) return s;
    copy(looks, weights);
    copy(found, labels);
    return {};
  });
}

qkv_status qkv_point_training_evaluate(qkv_point_training* training, uint64_t seed, int32_t layout,
                                       int64_t count, int32_t without_heads,
                                       qkv_point_evaluation* evaluation) {
  return guarded([&]() -> Status {
    if (training == nullptr) return null_argument("training");
    PointScenes scenes;
    if (Status s = draw_scenes(seed, layout, count, scenes); !s.ok()) return s;
    PointEvaluation of;
    if (Status s = training->training.evaluate(scenes, without_heads != 0, of); !s.ok()) return s;
    qkv_point_evaluation filled = {};
    filled.accuracy = of.accuracy;
    for (std::size_t head = 0; head < of.heads.size(); ++head) {
      filled.near[head] = of.heads[head].near;
      filled.alike[head] = of.heads[head].alike;
      filled.accuracy_without[head] = of.heads[head].accuracy_without;
    }
    return write_struct("evaluation", filled, evaluation);
  });
}

qkv_status qkv_point_training_read(const qkv_point_training* training, float* parameters,
                                   int64_t capacity, int64_t* count) {
  return guarded([&]() -> Status {
    if (training == nullptr) return null_argument("training");
    if (count == nullptr) return null_argument("count");
    if (Status s = check_array("parameters", parameters, capacity); !s.ok()) return s;
    const qkv::nn::Parameters& all = training->training.parameters();
    *count = all.count();
    if (parameters == nullptr) return {};
    if (capacity < *count) {
      return qkv::invalid_argument("parameters: a capacity of " + std::to_string(capacity) +
                                   " is too little; this model has " + std::to_string(*count) +
                                   " numbers");
    }
    for (const qkv::nn::Parameter& parameter : all.all()) {
      parameters = std::copy_n(parameter.value.data<float>(), parameter.value.size(), parameters);
    }
    return {};
  });
}

void qkv_point_training_destroy(qkv_point_training* training) { delete training; }
