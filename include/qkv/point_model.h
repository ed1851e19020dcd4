// A small model of point clouds, and the scenes it learns from: the training that shows heads
// specialising. No loss term, initialisation or mask favours a kind of head.
//
//   qkv::nn::PointTraining training({.seed = 1});
//   while (training.steps() < 1000) qkv::throw_if_error(training.step());
//
// A scene has 24 points in the unit square. Each carries a bit and 8 features. Its nearest
// neighbour lies within 0.06; one other point, elsewhere, has features like its own. Its label is
// twice the neighbour's bit plus the bit of the point that is like it, so that whoever knows one of
// the two is right half of the time. Points have no order: the model has no positions but the
// coordinates, and is permutation equivariant.
#ifndef QKV_POINT_MODEL_H_
#define QKV_POINT_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "qkv/nn.h"

namespace qkv::nn {

// ---- Scenes -------------------------------------------------------------------------------------

inline constexpr std::int64_t kScenePoints = 24;
inline constexpr std::int64_t kSceneLabels = 4;
// A token: x and y, sine and cosine of pi, 2 pi, 4 pi and 8 pi times each, 8 features, the bit as
// -1 or 1.
inline constexpr std::int64_t kTokenPlaces = 18, kTokenFeatures = 8;
inline constexpr std::int64_t kTokenSize = kTokenPlaces + kTokenFeatures + 1;

// Where pairs of near points lie. Models learn from scattered ones; the others are never seen.
enum class SceneLayout { kScattered, kRing, kClusters };

struct PointScenes {
  std::int64_t count = 0;
  Tensor tokens;  // [count, 24, kTokenSize] float32
  // Of each point, row by row: the label, and which point of its scene is near, which is alike.
  std::vector<std::int64_t> labels, near, alike;
};

// Draws `count` scenes. kOutOfMemory if there is no memory for them.
Status make_point_scenes(random::Generator& rng, std::int64_t count, SceneLayout layout,
                         PointScenes& scenes);

// ---- The model ----------------------------------------------------------------------------------

// What queries and keys are made of. The last three are what a model is compared with.
enum class PointAttention {
  kLearned,   // the whole token
  kMean,      // nothing: every point gets the mean of all values
  kPlaces,    // the coordinates: attention can only tell near from far
  kFeatures,  // the features: attention can only tell alike from unlike
};

struct PointModelOptions {
  std::int64_t d = 32, heads = 2, d_head = 16, hidden = 64;
  PointAttention attention = PointAttention::kLearned;
  std::optional<float> scale;  // of scores; default: 1 / sqrt(d_head)
};

// Tokens are embedded; one block of attention and MLP; a linear map to the labels' logits.
class PointModel {
 public:
  PointModel(Parameters& parameters, const PointModelOptions& options, random::Generator& rng);
  // Logits [count, 24, 4]. `bias` is added to the scores; its gradient is theirs.
  Var operator()(Tape& tape, const PointScenes& scenes, Var bias = {}) const;
  const MultiHeadAttention& attention() const { return attention_; }
  const PointModelOptions& options() const { return options_; }

 private:
  PointModelOptions options_;
  Linear embed_;
  LayerNorm norm_attention_, norm_mlp_, norm_out_;
  MultiHeadAttention attention_;
  Mlp mlp_;
  Linear out_;
};

// ---- Its training -------------------------------------------------------------------------------

struct PointTrainingOptions {
  std::uint64_t seed = 0;
  std::int64_t steps = 1000;  // of the learning rate's schedule
  std::int64_t batch = 32;    // scenes a step
  float learning_rate = 4e-3f;
  PointModelOptions model;
  ExecutionOptions execution;
};

// How well a model does on scenes, and what its heads look at.
struct PointEvaluation {
  double accuracy = 0;
  struct Head {
    // Mean weight a point gives to its near point and to the one that is alike.
    double near = 0, alike = 0;
    double accuracy_without = 0;  // with this head's part of W_O put to 0
  };
  std::vector<Head> heads;
};

// A step is a function of seed and number alone, so a training can go on from a checkpoint.
class PointTraining {
 public:
  explicit PointTraining(const PointTrainingOptions& options);
  // One batch: forward, backward, AdamW.
  Status step();
  std::int64_t steps() const { return optimizer_.steps(); }
  float loss() const { return loss_; }  // of the last step's batch, before the step
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }
  Optimizer& optimizer() { return optimizer_; }
  const PointModel& model() const { return model_; }
  // Heads cut one by one if `without_heads`.
  Status evaluate(const PointScenes& scenes, bool without_heads, PointEvaluation& evaluation);
  // The weights of every head on these scenes: [count, 24, heads, 24], and the model's labels.
  Status look(const PointScenes& scenes, std::vector<float>& weights,
              std::vector<std::int64_t>& labels);

 private:
  PointTrainingOptions options_;
  random::Generator rng_;
  Parameters parameters_;
  PointModel model_;
  AdamW optimizer_;
  Tape tape_;
  PointScenes batch_;
  float loss_ = 0;
};

}  // namespace qkv::nn

#endif  // QKV_POINT_MODEL_H_
