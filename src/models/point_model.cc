// The model of points, and its training.
#include "qkv/point_model.h"

#include <algorithm>
#include <array>

#include "simd/float_environment.h"

namespace qkv::nn {
namespace {

constexpr std::int64_t kWarmUp = 100;
constexpr double kMostNorm = 1;  // gradients are clipped to it

// Streams of one seed: numbers of step n come from {seed, n + 1}, initial parameters from {seed,
// 0}.
random::Generator stream(std::uint64_t seed, std::int64_t number) {
  const auto of = static_cast<std::uint64_t>(number);
  const std::array<std::uint32_t, 4> entropy = {
      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
      static_cast<std::uint32_t>(of), static_cast<std::uint32_t>(of >> 32)};
  return random::Generator(entropy);
}

// The tokens with only what `attention` may look at; the rest is 0.
Var parts_of(Tape& tape, const PointScenes& scenes, PointAttention attention) {
  std::int64_t begin = 0, end = kTokenPlaces;
  if (attention == PointAttention::kFeatures) {
    begin = kTokenPlaces;
    end = kTokenPlaces + kTokenFeatures;
  }
  std::array<float, kTokenSize> kept{};
  std::fill(kept.begin() + begin, kept.begin() + end, 1.0f);
  const Var mask = tape.constant({kept.data(), DType::kFloat32, {kTokenSize}});
  return tape.multiply(tape.constant(scenes.tokens), mask);
}

}  // namespace

PointModel::PointModel(Parameters& parameters, const PointModelOptions& options,
                       random::Generator& rng)
    : options_(options),
      embed_(parameters, "embed", kTokenSize, options.d, rng),
      norm_attention_(parameters, "norm_attention", options.d),
      norm_mlp_(parameters, "norm_mlp", options.d),
      norm_out_(parameters, "norm_out", options.d),
      attention_(parameters, "attention", {options.d, options.heads, 0, options.d_head}, rng),
      mlp_(parameters, "mlp", options.d, options.hidden, Activation::kGelu, rng),
      out_(parameters, "out", options.d, kSceneLabels, rng) {}

Var PointModel::operator()(Tape& tape, const PointScenes& scenes, Var bias) const {
  Var x = embed_(tape, tape.constant(scenes.tokens));
  const Var normed = norm_attention_(tape, x);
  MultiHeadAttention::Extras extras;
  extras.options.scale = options_.scale;
  extras.bias = bias;
  Var looking = normed;
  if (options_.attention == PointAttention::kMean) {
    extras.rotate = [](Tape& t, Var heads) { return t.scale(heads, 0); };
  } else if (options_.attention != PointAttention::kLearned) {
    looking = norm_attention_(tape, embed_(tape, parts_of(tape, scenes, options_.attention)));
  }
  x = tape.add(x, attention_(tape, looking, looking, normed, extras));
  x = tape.add(x, mlp_(tape, norm_mlp_(tape, x)));
  return out_(tape, norm_out_(tape, x));
}

PointTraining::PointTraining(const PointTrainingOptions& options)
    : options_(options),
      rng_(stream(options.seed, 0)),
      model_(parameters_, options.model, rng_),
      optimizer_(parameters_),
      tape_(options.execution) {}

Status PointTraining::step() {
  if (!parameters_.status().ok()) return parameters_.status();
  random::Generator rng = stream(options_.seed, steps() + 1);
  if (Status s = make_point_scenes(rng, options_.batch, SceneLayout::kScattered, batch_); !s.ok()) {
    return s;
  }
  tape_.clear();
  const Var loss = tape_.cross_entropy(model_(tape_, batch_), batch_.labels);
  parameters_.clear_gradients();
  tape_.run_backward(loss);
  if (!tape_.status().ok()) return tape_.status();
  loss_ = *static_cast<const float*>(tape_.value(loss).data);
  clip_gradients(parameters_, kMostNorm);
  optimizer_.step(cosine_schedule(steps(), kWarmUp, options_.steps, options_.learning_rate));
  return optimizer_.status();
}

Status PointTraining::look(const PointScenes& scenes, std::vector<float>& weights,
                           std::vector<std::int64_t>& labels) {
  if (!parameters_.status().ok()) return parameters_.status();
  tape_.clear();
  const Var logits = model_(tape_, scenes), of_heads = model_.attention().last_weights(tape_);
  if (!tape_.status().ok()) return tape_.status();
  const TensorView w = tape_.value(of_heads), y = tape_.value(logits);
  const auto* numbers = static_cast<const float*>(w.data);
  weights.assign(numbers, numbers + w.size());
  labels.clear();
  for (std::int64_t point = 0; point < scenes.count * kScenePoints; ++point) {
    const float* of = static_cast<const float*>(y.data) + point * kSceneLabels;
    labels.push_back(std::max_element(of, of + kSceneLabels) - of);
  }
  return {};
}

Status PointTraining::evaluate(const PointScenes& scenes, bool without_heads,
                               PointEvaluation& evaluation) {
  std::vector<float> weights;
  std::vector<std::int64_t> labels;
  const std::int64_t heads = options_.model.heads, points = scenes.count * kScenePoints;
  const auto accuracy = [&] {
    std::int64_t right = 0;
    for (std::size_t n = 0; n < labels.size(); ++n) right += labels[n] == scenes.labels[n];
    return points == 0 ? 0.0 : static_cast<double>(right) / static_cast<double>(points);
  };
  if (Status s = look(scenes, weights, labels); !s.ok()) return s;
  const FloatEnvironment environment;
  evaluation.accuracy = accuracy();
  evaluation.heads.assign(static_cast<std::size_t>(heads), {});
  for (std::int64_t h = 0; h < heads; ++h) {
    PointEvaluation::Head& head = evaluation.heads[static_cast<std::size_t>(h)];
    for (std::int64_t n = 0; n < points; ++n) {
      const float* row = weights.data() + (n * heads + h) * kScenePoints;
      head.near += static_cast<double>(row[scenes.near[static_cast<std::size_t>(n)]]);
      head.alike += static_cast<double>(row[scenes.alike[static_cast<std::size_t>(n)]]);
    }
    head.near /= std::max(1.0, static_cast<double>(points));
    head.alike /= std::max(1.0, static_cast<double>(points));
  }
  if (!without_heads) return {};
  Tensor& out = parameters_.find("attention.out.weight")->value;
  const std::int64_t columns = out.extent(1), d_head = columns / std::max<std::int64_t>(1, heads);
  const std::vector<float> kept(out.data<float>(), out.data<float>() + out.size());
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t row = 0; row < out.extent(0); ++row) {
      std::fill_n(out.data<float>() + row * columns + h * d_head, d_head, 0.0f);
    }
    const Status status = look(scenes, weights, labels);
    std::copy(kept.begin(), kept.end(), out.data<float>());
    if (!status.ok()) return status;
    evaluation.heads[static_cast<std::size_t>(h)].accuracy_without = accuracy();
  }
  return {};
}

}  // namespace qkv::nn
