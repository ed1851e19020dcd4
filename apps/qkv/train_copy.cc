// qkv train copy: what came after this token the last time? One layer can't tell, two can.
#include <fmt/core.h>

#include <algorithm>

#include "command.h"
#include "plot.h"
#include "sequence_model.h"
#include "training.h"

namespace qkv::app {
namespace {

constexpr std::int64_t kSteps = 500, kBatch = 32, kWatchEvery = 20, kSeeds = 5;
// A sequence: 32 different ones of 64 tokens, then 16 of them again, from a place drawn anew each
// time. What counts are those 16 but the first. By place alone the next token is one of 17.
constexpr std::int64_t kKinds = 64, kFirst = 32, kAgain = 16, kLength = kFirst + kAgain;
constexpr std::int64_t kPlaces = kFirst - kAgain + 1;
constexpr double kChance = 1.0 / static_cast<double>(kPlaces);
enum : std::uint32_t { kBatches = 2, kHeldOut = 3 };

SequenceBatch draw(random::Generator rng, std::int64_t count) {
  SequenceBatch batch;
  batch.count = count;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::vector<std::int64_t> order = rng.permutation(kKinds);
    const std::int64_t place = rng.integers(0, kPlaces);
    std::vector<std::int64_t> ids(order.begin(), order.begin() + kFirst);
    ids.insert(ids.end(), order.begin() + place, order.begin() + place + kAgain);
    std::vector<std::int64_t> targets(static_cast<std::size_t>(kLength), -1);
    for (std::int64_t i = kFirst; i + 1 < kLength; ++i) {
      targets[static_cast<std::size_t>(i)] = ids[static_cast<std::size_t>(i + 1)];
    }
    batch.ids.insert(batch.ids.end(), ids.begin(), ids.end());
    batch.targets.insert(batch.targets.end(), targets.begin(), targets.end());
  }
  return batch;
}

struct HeadScore {
  double previous = 0;   // mean weight of the first part's tokens on the one before
  double same = 0;       // of those that come again: on the first coming
  double induction = 0;  // and on the one after it
};

// Of the heads of one layer, on sequences that were held out.
std::vector<HeadScore> score_heads(SequenceRun& run, const SequenceBatch& held_out,
                                   std::int64_t layer) {
  constexpr std::int64_t kSequences = 16;
  const std::int64_t heads = run.model().options().heads;
  std::vector<HeadScore> scores(static_cast<std::size_t>(heads));
  for (std::int64_t n = 0; n < kSequences; ++n) {
    const std::span<const std::int64_t> ids(held_out.ids.data() + n * kLength, kLength);
    const std::vector<float> weights = run.weights(ids, layer);
    const std::int64_t place =
        std::find(ids.begin(), ids.begin() + kFirst, ids[kFirst]) - ids.begin();
    for (std::int64_t h = 0; h < heads; ++h) {
      HeadScore& score = scores[static_cast<std::size_t>(h)];
      const auto weight = [&](std::int64_t i, std::int64_t j) {
        return static_cast<double>(
            weights[static_cast<std::size_t>((i * heads + h) * kLength + j)]);
      };
      for (std::int64_t i = 1; i < kFirst; ++i) {
        score.previous += weight(i, i - 1) / static_cast<double>((kFirst - 1) * kSequences);
      }
      for (std::int64_t i = kFirst; i + 1 < kLength; ++i) {
        const std::int64_t before = place + i - kFirst;
        score.same += weight(i, before) / static_cast<double>((kAgain - 1) * kSequences);
        score.induction += weight(i, before + 1) / static_cast<double>((kAgain - 1) * kSequences);
      }
    }
  }
  return scores;
}

HeatMap map_of(SequenceRun& run, const SequenceBatch& held_out, std::int64_t layer,
               std::int64_t head, const std::string& what) {
  const std::span<const std::int64_t> ids(held_out.ids.data(), kLength);
  const std::vector<float> weights = run.weights(ids, layer);
  HeatMap map;
  map.title = fmt::format("Layer {} head {}: {}", layer + 1, head + 1, what);
  map.x_label = fmt::format("key (the last {} come again)", kAgain);
  map.y_label = "query";
  map.rows = map.columns = kLength;
  for (std::int64_t i = 0; i < kLength; ++i) {
    for (std::int64_t j = 0; j < kLength; ++j) {
      map.shares.push_back(static_cast<double>(weights[static_cast<std::size_t>(
          (i * run.model().options().heads + head) * kLength + j)]));
    }
  }
  return map;
}

SequenceModelOptions model_of(std::int64_t layers) {
  SequenceModelOptions options;
  options.kinds = kKinds;
  options.length = kLength;
  options.d = 64;
  options.heads = 2;
  options.layers = layers;
  options.d_head = 64 / layers;  // as many parameters in one layer as in two
  return options;
}

std::string run_name(std::int64_t layers, std::uint64_t seed) {
  return fmt::format("{}-seed-{}", layers == 1 ? "one-layer" : "two-layers", seed);
}

// The best head of each kind in each layer, and pictures of them.
void show_heads(SequenceRun& run, const SequenceBatch& held_out, Json& json,
                std::vector<Picture>* maps) {
  for (std::int64_t layer = 0; layer < run.model().options().layers; ++layer) {
    const std::vector<HeadScore> scores = score_heads(run, held_out, layer);
    std::int64_t best = 0;
    double most = -1;
    for (std::size_t h = 0; h < scores.size(); ++h) {
      const HeadScore& of = scores[h];
      json["heads"].push_back({{"layer", layer + 1},
                               {"head", h + 1},
                               {"previous_token", of.previous},
                               {"same_token", of.same},
                               {"induction", of.induction}});
      const double score = layer == 0 ? of.previous : of.induction;
      if (score > most) most = score, best = static_cast<std::int64_t>(h);
    }
    if (maps == nullptr) continue;
    maps->emplace_back(
        map_of(run, held_out, layer, best, layer == 0 ? "the token before" : "what came after it"));
  }
}

}  // namespace

void train_copy(const TrainRequest& request) {
  const std::int64_t steps = request.steps > 0 ? request.steps : kSteps;
  std::vector<PlannedRun> plan;
  for (const std::int64_t layers : {1, 2}) {
    for (std::uint64_t n = 0; n < kSeeds; ++n) {
      plan.push_back({run_name(layers, request.seed + n), steps, kBatch * kLength});
    }
  }
  TrainingFolder folder(request, plan);
  const SequenceBatch held_out = draw(stream(request.seed, kHeldOut, 0), 128);
  Json report = {{"training", "copy"},
                 {"seed", request.seed},
                 {"steps", steps},
                 {"sequence", fmt::format("{} different ones of {} tokens, then {} of them again",
                                          kFirst, kKinds, kAgain)},
                 {"chance", kChance},
                 {"runs", Json::array()}};
  LineChart right{"Right answers (held out)", "step", "share", {}};
  LineChart losses{"Loss while learning", "step", "nats", {}};
  std::vector<Picture> maps;
  double worst_of_two = 1, best_of_one = 0;
  for (const std::int64_t layers : {1, 2}) {
    for (std::uint64_t n = 0; n < kSeeds; ++n) {
      const std::uint64_t seed = request.seed + n;
      SequenceRun run(
          model_of(layers), {steps, 100, 4e-3f}, seed, request.execution,
          [seed](std::int64_t step) { return draw(stream(seed, kBatches, step), kBatch); });
      run.watch(kWatchEvery, [&](Curves& of) {
        of["right"].push_back(static_cast<float>(run.score(held_out).right));
      });
      const Curves of = folder.train(run);
      const SequenceScore score = run.score(held_out);
      Json json = {
          {"layers", layers},     {"seed", seed},       {"parameters", run.parameters().count()},
          {"right", score.right}, {"loss", score.loss}, {"heads", Json::array()}};
      const bool pictured = layers == 2 && n == 0;
      show_heads(run, held_out, json, pictured ? &maps : nullptr);
      report["runs"].push_back(json);
      fmt::print("  right {:.1f} % (chance {:.1f} %), {} parameters\n", 100 * score.right,
                 100 * kChance, run.parameters().count());
      if (layers == 1) best_of_one = std::max(best_of_one, score.right);
      if (layers == 2) worst_of_two = std::min(worst_of_two, score.right);
      const int colour = layers == 2 ? 0 : 1;
      const std::string name = n > 0 ? "" : layers == 2 ? "two layers" : "one layer";
      right.series.push_back(smoothed(name, curve_of(of, "right"), colour, kWatchEvery, 1000));
      losses.series.push_back(smoothed(name, curve_of(of, "loss"), colour));
    }
  }
  report["best_of_one_layer"] = best_of_one;
  report["worst_of_two_layers"] = worst_of_two;
  fmt::print(
      "\nOne layer: at most {:.1f} % right. Two layers: at least {:.1f} %.\n"
      "In two layers a head of the first tells every token which one came before it; a head\n"
      "of the second then finds the token that came after one like the last.\n",
      100 * best_of_one, 100 * worst_of_two);
  std::vector<Picture> pictures = {right, losses};
  pictures.insert(pictures.end(), maps.begin(), maps.end());
  folder.write_text("copy.svg", svg_page("Copying takes two layers", pictures, 2));
  folder.write_report(report);
}

}  // namespace qkv::app
