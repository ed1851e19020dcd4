// qkv train saturation: what dividing scores by sqrt(d_k) is for.
#include <fmt/core.h>

#include <array>
#include <cmath>

#include "command.h"
#include "plot.h"
#include "qkv/point_model.h"
#include "qkv/saturation.h"
#include "sequence_model.h"
#include "training.h"

namespace qkv::app {
namespace {

using nn::PointScenes;

constexpr std::int64_t kSteps = 300, kBatch = 32, kHeldOut = 64, kWatchEvery = 10;
constexpr std::array<std::int64_t, 6> kKeySizes = {16, 32, 64, 128, 256, 512};
enum : std::uint32_t { kInitial = 1, kBatches = 2, kHeldOutScenes = 3 };

double norm_of(const Tensor& tensor) {
  double sum = 0;
  for (std::int64_t n = 0; n < tensor.size(); ++n) {
    sum +=
        static_cast<double>(tensor.data<float>()[n]) * static_cast<double>(tensor.data<float>()[n]);
  }
  return std::sqrt(sum);
}

// The model of points with two heads of keys of d_k numbers, whose scores are divided or not. Plain
// gradient descent: AdamW would make up for small gradients by dividing by their size.
class SaturationRun : public Trainable {
 public:
  SaturationRun(std::int64_t d_k, bool divided, std::int64_t steps, std::uint64_t seed,
                const ExecutionOptions& execution)
      : seed_(seed),
        steps_(steps),
        rng_(stream(seed, kInitial, d_k)),
        model_(parameters_, options_of(d_k, divided), rng_),
        optimizer_(parameters_, 0.9f),
        tape_(execution) {
    random::Generator rng = stream(seed, kHeldOutScenes, 0);
    check(make_point_scenes(rng, kHeldOut, nn::SceneLayout::kScattered, held_out_));
    const std::int64_t scores[] = {kHeldOut, 2, nn::kScenePoints, nn::kScenePoints};
    no_bias_.add("zeros", scores, false);
    check(no_bias_.status());
  }

  nn::Parameters& parameters() override { return parameters_; }
  nn::Optimizer& optimizer() override { return optimizer_; }

  void step(Curves& curves) override {
    if (optimizer_.steps() % kWatchEvery == 0) watch(curves);
    random::Generator rng = stream(seed_, kBatches, optimizer_.steps());
    PointScenes scenes;
    check(make_point_scenes(rng, kBatch, nn::SceneLayout::kScattered, scenes));
    tape_.clear();
    const nn::Var loss = tape_.cross_entropy(model_(tape_, scenes), scenes.labels);
    parameters_.clear_gradients();
    tape_.backward(loss);
    curves["loss"].push_back(*static_cast<const float*>(tape_.value(loss).data));
    for (const char* name : {"query", "key"}) {
      const nn::Parameter* of = parameters_.find(std::string("attention.") + name + ".weight");
      curves[std::string("gradient of ") + name].push_back(
          static_cast<float>(norm_of(of->gradient)));
    }
    nn::clip_gradients(parameters_, 1);
    optimizer_.step(nn::cosine_schedule(optimizer_.steps(), 20, steps_, 0.3f));
    throw_if_error(optimizer_.status());
  }

  // Mean entropy (nats) and norm of the softmax's Jacobian of the weights, the norm of the loss's
  // gradient by all scores, and right answers.
  struct State {
    double entropy = 0, jacobian = 0, score_gradient = 0, right = 0;
  };
  State state() {
    tape_.clear();
    no_bias_.clear_gradients();
    const nn::Var bias = tape_.parameter(no_bias_.all().front());
    const nn::Var logits = model_(tape_, held_out_, bias);
    const nn::Var weights = model_.attention().last_weights(tape_, extras());
    tape_.backward(tape_.cross_entropy(logits, held_out_.labels));
    State state;
    state.score_gradient = norm_of(no_bias_.all().front().gradient);
    const TensorView w = tape_.value(weights), y = tape_.value(logits);
    const std::int64_t rows = w.size() / nn::kScenePoints;
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* of = static_cast<const float*>(w.data) + row * nn::kScenePoints;
      double entropy = 0;
      for (std::int64_t j = 0; j < nn::kScenePoints; ++j) {
        const auto p = static_cast<double>(of[j]);
        if (p > 0) entropy -= p * std::log(p);
      }
      state.entropy += entropy / static_cast<double>(rows);
      state.jacobian +=
          softmax_jacobian_norm(std::span(of, nn::kScenePoints)) / static_cast<double>(rows);
    }
    const std::int64_t points = kHeldOut * nn::kScenePoints;
    for (std::int64_t n = 0; n < points; ++n) {
      const float* row = static_cast<const float*>(y.data) + n * nn::kSceneLabels;
      const bool right = std::max_element(row, row + nn::kSceneLabels) - row ==
                         held_out_.labels[static_cast<std::size_t>(n)];
      state.right += right / static_cast<double>(points);
    }
    return state;
  }

 private:
  static nn::PointModelOptions options_of(std::int64_t d_k, bool divided) {
    nn::PointModelOptions options;
    options.d_head = d_k;
    if (!divided) options.scale = 1.0f;
    return options;
  }
  nn::MultiHeadAttention::Extras extras() const {
    nn::MultiHeadAttention::Extras extras;
    extras.options.scale = model_.options().scale;
    return extras;
  }
  void watch(Curves& curves) {
    const State now = state();
    curves["entropy"].push_back(static_cast<float>(now.entropy));
    curves["jacobian"].push_back(static_cast<float>(now.jacobian));
    curves["gradient of scores"].push_back(static_cast<float>(now.score_gradient));
  }

  std::uint64_t seed_;
  std::int64_t steps_;
  random::Generator rng_;
  nn::Parameters parameters_;
  nn::PointModel model_;
  nn::Sgd optimizer_;
  nn::Tape tape_;
  PointScenes held_out_;
  nn::Parameters no_bias_;  // zeros added to the scores, for their gradient
};

// Charts of one measure: one for divided scores, one for those that aren't.
struct Pair {
  LineChart divided, plain;
};

Pair charts_of(const char* what, const char* unit, bool log_y) {
  Pair pair;
  pair.divided.title = std::string(what) + ", divided by sqrt(d_k)";
  pair.plain.title = std::string(what) + ", not divided";
  for (LineChart* chart : {&pair.divided, &pair.plain}) {
    chart->x_label = "step";
    chart->y_label = unit;
    chart->log_y = log_y;
  }
  return pair;
}

// A measure against d_k, divided and not.
LineChart by_size(const char* title, const char* unit, bool log_y) {
  LineChart chart;
  chart.title = title;
  chart.x_label = "d_k";
  chart.y_label = unit;
  chart.log_x = true;
  chart.log_y = log_y;
  for (const bool divided : {true, false}) {
    Series series;
    series.name = divided ? "divided" : "not divided";
    series.colour = divided ? 0 : 1;
    chart.series.push_back(series);
  }
  return chart;
}

void add_point(LineChart& chart, bool divided, std::int64_t d_k, double number) {
  Series& series = chart.series[divided ? 0 : 1];
  series.x.push_back(static_cast<double>(d_k));
  series.y.push_back(number);
}

}  // namespace

void train_saturation(const TrainRequest& request) {
  const std::int64_t steps = request.steps > 0 ? request.steps : kSteps;
  std::vector<PlannedRun> plan;
  const auto name = [](std::int64_t d_k, bool divided) {
    return fmt::format("{}-d{}", divided ? "divided" : "plain", d_k);
  };
  for (const std::int64_t d_k : kKeySizes) {
    for (const bool divided : {true, false}) {
      plan.push_back({name(d_k, divided), steps, kBatch * nn::kScenePoints,
                      1 + static_cast<double>(d_k) / 64});
    }
  }
  TrainingFolder folder(request, plan);
  Json report = {{"training", "saturation"},
                 {"seed", request.seed},
                 {"steps", steps},
                 {"chance", 1.0 / nn::kSceneLabels},
                 {"runs", Json::array()}};
  LineChart right = by_size("Right answers at the end", "share", false);
  LineChart start = by_size("Gradient of scores at the start", "norm", true);
  std::array<Pair, 5> charts = {
      charts_of("Loss", "nats", false), charts_of("Entropy of weights", "nats", false),
      charts_of("Norm of the softmax's Jacobian", "norm", true),
      charts_of("Gradient of scores", "norm", true), charts_of("Gradient of W_Q", "norm", true)};
  constexpr std::array<const char*, 5> kCurves = {"loss", "entropy", "jacobian",
                                                  "gradient of scores", "gradient of query"};
  int colour = 0;
  for (const std::int64_t d_k : kKeySizes) {
    for (const bool divided : {true, false}) {
      SaturationRun run(d_k, divided, steps, request.seed, request.execution);
      const Curves of = folder.train(run);
      const SaturationRun::State end = run.state();
      const auto first = [&](const char* curve) {
        return static_cast<double>(curve_of(of, curve)[0]);
      };
      report["runs"].push_back({{"d_k", d_k},
                                {"divided", divided},
                                {"parameters", run.parameters().count()},
                                {"entropy_at_start", first("entropy")},
                                {"entropy_at_end", end.entropy},
                                {"jacobian_at_start", first("jacobian")},
                                {"jacobian_at_end", end.jacobian},
                                {"gradient_of_scores_at_start", first("gradient of scores")},
                                {"gradient_of_scores_at_end", end.score_gradient},
                                {"gradient_of_query_at_start", first("gradient of query")},
                                {"gradient_of_key_at_start", first("gradient of key")},
                                {"right", end.right}});
      fmt::print("  right {:.1f} %   entropy {:.3f} to {:.3f}   Jacobian {:.3f} to {:.3f}\n",
                 100 * end.right, first("entropy"), end.entropy, first("jacobian"), end.jacobian);
      add_point(right, divided, d_k, end.right);
      add_point(start, divided, d_k, first("gradient of scores"));
      for (std::size_t n = 0; n < charts.size(); ++n) {
        const double every = n >= 1 && n <= 3 ? kWatchEvery : 1;
        Series series =
            smoothed(fmt::format("{}", d_k), curve_of(of, kCurves[n]), colour, every, 60);
        (divided ? charts[n].divided : charts[n].plain).series.push_back(series);
      }
    }
    ++colour;
  }
  std::vector<Picture> pictures = {right, start};
  for (const Pair& pair : charts) {
    pictures.emplace_back(pair.divided);
    pictures.emplace_back(pair.plain);
  }
  fmt::print(
      "\nNot divided, scores grow as sqrt(d_k): weights saturate, the gradient of the scores "
      "shrinks\n"
      "with the softmax's Jacobian, and learning starts late. (The gradient of W_Q needn't be "
      "small:\n"
      "it is the scores' gradient times keys, which the division would have made smaller.)\n");
  folder.write_text(
      "saturation.svg",
      svg_page("Scores divided by sqrt(d_k), and not, for d_k from 16 to 512", pictures, 2));
  folder.write_report(report);
}

}  // namespace qkv::app
