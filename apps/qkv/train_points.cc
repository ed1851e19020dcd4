// qkv train points: do two heads find out that one should look near, the other at what is alike?
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>

#include "command.h"
#include "plot.h"
#include "qkv/point_model.h"
#include "training.h"

namespace qkv::app {
namespace {

using nn::PointAttention;
using nn::PointEvaluation;
using nn::PointScenes;
using nn::PointTraining;
using nn::PointTrainingOptions;
using nn::SceneLayout;

constexpr std::int64_t kSteps = 1000, kBatch = 32, kHeldOut = 256, kSeeds = 10;
// A head is "near" or "alike" if it gives at least so much weight to the one, and at most so much
// to the other. Of 24 points an even look gives each 0.04.
constexpr double kMuch = 0.4, kLittle = 0.1;

struct Rival {
  const char* name;
  const char* words;
  PointAttention attention;
};
constexpr std::array<Rival, 4> kRivals = {{
    {"mean", "the mean of all points", PointAttention::kMean},
    {"near-alone", "one head that sees places only", PointAttention::kPlaces},
    {"alike-alone", "one head that sees features only", PointAttention::kFeatures},
    {"one-head", "one head that sees all", PointAttention::kLearned},
}};

class PointRun : public Trainable {
 public:
  explicit PointRun(const PointTrainingOptions& options) : training_(options) {}
  nn::Parameters& parameters() override { return training_.parameters(); }
  nn::Optimizer& optimizer() override { return training_.optimizer(); }
  void step(Curves& curves) override {
    check(training_.step());
    curves["loss"].push_back(training_.loss());
  }
  PointTraining& training() { return training_; }

 private:
  PointTraining training_;
};

struct HeldOut {
  PointScenes scattered, ring, clusters;
};

HeldOut held_out_scenes(std::uint64_t seed) {
  // A stream that no training reads: those have four words of entropy, which fewer words are filled
  // up to with zeros.
  const std::array<std::uint32_t, 5> entropy = {static_cast<std::uint32_t>(seed),
                                                static_cast<std::uint32_t>(seed >> 32), 0, 0, 1};
  random::Generator rng(entropy);
  HeldOut scenes;
  check(make_point_scenes(rng, kHeldOut, SceneLayout::kScattered, scenes.scattered));
  check(make_point_scenes(rng, kHeldOut, SceneLayout::kRing, scenes.ring));
  check(make_point_scenes(rng, kHeldOut, SceneLayout::kClusters, scenes.clusters));
  return scenes;
}

const char* kind_of(const PointEvaluation::Head& head) {
  if (head.near >= kMuch && head.alike <= kLittle) return "near";
  if (head.alike >= kMuch && head.near <= kLittle) return "alike";
  return "neither";
}

bool specialised(const PointEvaluation& of) {
  const auto has = [&](std::string_view kind) {
    return std::ranges::any_of(of.heads, [&](const auto& head) { return kind_of(head) == kind; });
  };
  return has("near") && has("alike");
}

Json to_json(const PointEvaluation& of, double ring, double clusters) {
  Json json = {{"accuracy", of.accuracy},
               {"accuracy_ring", ring},
               {"accuracy_clusters", clusters},
               {"heads", Json::array()}};
  for (const PointEvaluation::Head& head : of.heads) {
    json["heads"].push_back({{"kind", kind_of(head)},
                             {"weight_to_near_point", head.near},
                             {"weight_to_alike_point", head.alike},
                             {"accuracy_without_it", head.accuracy_without}});
  }
  return json;
}

// One held-out scene: where each head looks from three points.
ScenePicture scene_of(PointTraining& training, const std::string& title, SceneLayout layout) {
  random::Generator rng(2);
  PointScenes scene;
  check(make_point_scenes(rng, 1, layout, scene));
  std::vector<float> weights;
  std::vector<std::int64_t> labels;
  check(training.look(scene, weights, labels));
  ScenePicture picture;
  picture.title = title;
  for (std::int64_t n = 0; n < nn::kScenePoints; ++n) {
    const float* token = scene.tokens.data<float>() + n * nn::kTokenSize;
    picture.points.push_back({static_cast<double>(token[0]), static_cast<double>(token[1]), 6,
                              token[nn::kTokenSize - 1] > 0});
  }
  const auto heads =
      static_cast<std::int64_t>(weights.size()) / (nn::kScenePoints * nn::kScenePoints);
  for (const std::int64_t from : {0, 7, 13, 18}) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t to = 0; to < nn::kScenePoints; ++to) {
        const auto at = static_cast<std::size_t>((from * heads + h) * nn::kScenePoints + to);
        if (weights[at] < 0.02f || to == from) continue;
        picture.looks.push_back({static_cast<std::size_t>(from), static_cast<std::size_t>(to),
                                 static_cast<double>(weights[at]), static_cast<int>(h)});
      }
    }
  }
  return picture;
}

std::string seed_name(std::uint64_t seed) { return fmt::format("seed-{}", seed); }

// The figures and pictures of all runs.
struct Findings {
  Json report;
  LineChart curves{"Learning", "step", "loss", {}};
  LineChart heads{
      "What heads look at", "mean weight to the near point", "mean weight to the alike point", {}};
  std::vector<Picture> scenes;
  std::int64_t specialised = 0;
  bool failure_shown = false;
};

PointEvaluation evaluate(PointTraining& training, const HeldOut& scenes, Json& json) {
  PointEvaluation of, ring, clusters;
  check(training.evaluate(scenes.scattered, true, of));
  check(training.evaluate(scenes.ring, false, ring));
  check(training.evaluate(scenes.clusters, false, clusters));
  json = to_json(of, ring.accuracy, clusters.accuracy);
  return of;
}

void train_seed(TrainingFolder& folder, const PointTrainingOptions& options, const HeldOut& scenes,
                Findings& findings) {
  PointRun run(options);
  const Curves curves = folder.train(run);
  Json json;
  const PointEvaluation of = evaluate(run.training(), scenes, json);
  const bool special = specialised(of);
  findings.specialised += special;
  json["seed"] = options.seed;
  json["specialised"] = special;
  findings.report["runs"].push_back(json);
  std::string heads;
  for (std::size_t n = 0; n < of.heads.size(); ++n) {
    const PointEvaluation::Head& head = of.heads[n];
    heads +=
        fmt::format("\n    head {} {:<7} weights: near {:.2f}, alike {:.2f}; without it {:.0f} %",
                    n + 1, kind_of(head), head.near, head.alike, 100 * head.accuracy_without);
    Series dot;
    dot.x = {head.near};
    dot.y = {head.alike};
    dot.dots = true;
    dot.colour = special ? 2 : 1;
    findings.heads.series.push_back(dot);
  }
  fmt::print("  right {:.1f} %{}\n", 100 * of.accuracy, heads);
  Series curve = smoothed("", curve_of(curves, "loss"), special ? 2 : 1);
  findings.curves.series.push_back(curve);
  const std::string seed = fmt::format("seed {}", options.seed);
  if (special && findings.scenes.empty()) {
    findings.scenes.emplace_back(
        scene_of(run.training(), seed + ": head 1 blue, head 2 orange", SceneLayout::kScattered));
  } else if (!special && !findings.failure_shown) {
    findings.failure_shown = true;
    findings.scenes.emplace_back(
        scene_of(run.training(), seed + ": did not specialise", SceneLayout::kScattered));
  }
}

}  // namespace

void train_points(const TrainRequest& request) {
  PointTrainingOptions options;
  options.steps = request.steps > 0 ? request.steps : kSteps;
  options.batch = kBatch;
  options.execution = request.execution;
  const std::int64_t tokens = kBatch * nn::kScenePoints;
  std::vector<PlannedRun> plan;
  plan.reserve(kSeeds + kRivals.size());
  for (std::uint64_t n = 0; n < kSeeds; ++n) {
    plan.push_back({seed_name(request.seed + n), options.steps, tokens});
  }
  for (const Rival& rival : kRivals) plan.push_back({rival.name, options.steps, tokens});
  TrainingFolder folder(request, plan);
  const HeldOut scenes = held_out_scenes(request.seed);

  Findings findings;
  findings.report = {{"training", "points"},
                     {"seed", request.seed},
                     {"steps", options.steps},
                     {"points_a_scene", nn::kScenePoints},
                     {"scenes_a_step", kBatch},
                     {"held_out_scenes", kHeldOut},
                     {"chance", 1.0 / nn::kSceneLabels},
                     {"kinds", fmt::format("near: mean weight at least {} to the near point and at "
                                           "most {} to the alike one; alike: the other way round",
                                           kMuch, kLittle)},
                     {"runs", Json::array()},
                     {"compared_with", Json::array()}};
  for (std::uint64_t n = 0; n < kSeeds; ++n) {
    options.seed = request.seed + n;
    train_seed(folder, options, scenes, findings);
  }
  options.seed = request.seed;
  options.model.heads = 1;
  options.model.d_head = 32;  // as many parameters as with two heads of 16
  for (const Rival& rival : kRivals) {
    options.model.attention = rival.attention;
    PointRun run(options);
    (void)folder.train(run);
    Json json;
    const PointEvaluation of = evaluate(run.training(), scenes, json);
    json["name"] = rival.name;
    json["what"] = rival.words;
    findings.report["compared_with"].push_back(json);
    fmt::print("  right {:.1f} %   {}\n", 100 * of.accuracy, rival.words);
  }
  findings.report["specialised"] = findings.specialised;
  fmt::print(
      "\n{} of {} runs ended with one near and one alike head. Nothing forces a head to\n"
      "specialise; training finds whatever helps.\n",
      findings.specialised, kSeeds);
  std::vector<Picture> pictures = {findings.curves, findings.heads};
  pictures.insert(pictures.end(), findings.scenes.begin(), findings.scenes.end());
  folder.write_text("points.svg",
                    svg_page("Points: green runs specialise, orange ones don't", pictures, 2));
  folder.write_report(findings.report);
}

}  // namespace qkv::app
