// qkv train text: a model of characters, with positions and without.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "character_text.h"
#include "command.h"
#include "plot.h"
#include "qkv/attention.h"
#include "sequence_model.h"
#include "terminal.h"
#include "training.h"

namespace qkv::app {
namespace {

constexpr std::int64_t kSteps = 500, kBatch = 16, kLength = 128, kWatchEvery = 50;
constexpr std::int64_t kSampleLength = 400;
constexpr float kTemperature = 0.8f;
constexpr std::int64_t kRepeated = 32;  // characters of a random stretch that comes twice
enum : std::uint32_t { kBatches = 2, kSample = 3, kRandomText = 4 };

SequenceBatch windows(const std::vector<std::int64_t>& text,
                      const std::vector<std::int64_t>& starts) {
  SequenceBatch batch;
  batch.count = static_cast<std::int64_t>(starts.size());
  for (const std::int64_t start : starts) {
    const auto first = text.begin() + start;
    batch.ids.insert(batch.ids.end(), first, first + kLength);
    batch.targets.insert(batch.targets.end(), first + 1, first + kLength + 1);
  }
  return batch;
}

SequenceBatch random_windows(const CharacterText& text, std::uint64_t seed, std::int64_t step) {
  random::Generator rng = stream(seed, kBatches, step);
  std::vector<std::int64_t> starts(kBatch);
  rng.integers(starts, 0, static_cast<std::int64_t>(text.learn.size()) - kLength);
  return windows(text.learn, starts);
}

// Windows side by side, from the first on.
std::vector<SequenceBatch> check_windows(const CharacterText& text, std::int64_t most) {
  std::vector<SequenceBatch> batches;
  const auto size = static_cast<std::int64_t>(text.check.size());
  std::vector<std::int64_t> starts;
  for (std::int64_t start = 0; start + kLength < size && start / kLength < most; start += kLength) {
    starts.push_back(start);
    if (static_cast<std::int64_t>(starts.size()) < 2 * kBatch) continue;
    batches.push_back(windows(text.check, starts));
    starts.clear();
  }
  if (!starts.empty()) batches.push_back(windows(text.check, starts));
  return batches;
}

double mean_loss(SequenceRun& run, const std::vector<SequenceBatch>& batches) {
  double sum = 0, count = 0;
  for (const SequenceBatch& batch : batches) {
    sum += run.score(batch).loss * static_cast<double>(batch.count);
    count += static_cast<double>(batch.count);
  }
  return sum / count;
}

// One of the characters, by the softmax of logits / temperature: attention of one query of 1 to
// keys that are the logits gives their weights, the same on every machine.
std::int64_t draw_character(const float* logits, std::int64_t kinds, random::Generator& rng) {
  const float one = 1;
  std::vector<float> unit(static_cast<std::size_t>(kinds * kinds)),
      weights(static_cast<std::size_t>(kinds));
  for (std::int64_t n = 0; n < kinds; ++n) unit[static_cast<std::size_t>(n * (kinds + 1))] = 1;
  AttentionOptions options;
  options.scale = 1 / kTemperature;
  AttentionOutputs outputs;
  outputs.out = MutableTensorView(weights.data(), {1, kinds});
  attention({TensorView(&one, {1, 1}), TensorView(logits, {kinds, 1}),
             TensorView(unit.data(), {kinds, kinds})},
            outputs, options);
  double left = rng.random();
  for (std::int64_t n = 0; n < kinds; ++n) {
    left -= static_cast<double>(weights[static_cast<std::size_t>(n)]);
    if (left < 0) return n;
  }
  return kinds - 1;
}

std::string sample(SequenceRun& run, const CharacterText& text, std::uint64_t seed) {
  random::Generator rng = stream(seed, kSample, 0);
  std::vector<std::int64_t> ids(text.check.begin(), text.check.begin() + 32), written;
  while (static_cast<std::int64_t>(written.size()) < kSampleLength) {
    const std::vector<float> logits = run.logits(ids);
    const float* last = logits.data() + static_cast<std::ptrdiff_t>(logits.size()) - text.count();
    written.push_back(draw_character(last, text.count(), rng));
    ids.push_back(written.back());
    if (static_cast<std::int64_t>(ids.size()) > kLength) ids.erase(ids.begin());
  }
  return text.spell(written);
}

struct HeadScore {
  std::int64_t layer, head;
  // Mean weights: on the character before; in random characters that come twice, on the one after
  // the same character's first coming.
  double previous = 0, induction = 0;
};

std::vector<HeadScore> score_heads(SequenceRun& run, const CharacterText& text,
                                   std::uint64_t seed) {
  const SequenceModelOptions& options = run.model().options();
  std::vector<HeadScore> scores;
  const std::vector<std::int64_t> written(text.check.begin(), text.check.begin() + kLength);
  random::Generator rng = stream(seed, kRandomText, 0);
  std::vector<std::int64_t> repeated(kRepeated);
  rng.integers(repeated, 0, text.count());
  repeated.insert(repeated.end(), repeated.begin(), repeated.begin() + kRepeated);
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const std::vector<float> of_text = run.weights(written, layer);
    const std::vector<float> of_repeated = run.weights(repeated, layer);
    for (std::int64_t head = 0; head < options.heads; ++head) {
      HeadScore score{layer, head};
      for (std::int64_t i = 1; i < kLength; ++i) {
        score.previous += static_cast<double>(
            of_text[static_cast<std::size_t>((i * options.heads + head) * kLength + i - 1)]);
      }
      score.previous /= static_cast<double>(kLength - 1);
      for (std::int64_t i = kRepeated; i < 2 * kRepeated; ++i) {
        score.induction += static_cast<double>(of_repeated[static_cast<std::size_t>(
            (i * options.heads + head) * 2 * kRepeated + i - kRepeated + 1)]);
      }
      score.induction /= static_cast<double>(kRepeated);
      scores.push_back(score);
    }
  }
  return scores;
}

// A head's weights over the first characters of the text to check.
HeatMap map_of(SequenceRun& run, const CharacterText& text, const HeadScore& head,
               const std::string& what) {
  constexpr std::int64_t kShown = 36;
  const std::vector<std::int64_t> ids(text.check.begin(), text.check.begin() + kShown);
  const std::vector<float> weights = run.weights(ids, head.layer);
  HeatMap map;
  map.title = fmt::format("{}: layer {} head {}", what, head.layer + 1, head.head + 1);
  map.x_label = "key";
  map.y_label = "query";
  map.rows = map.columns = kShown;
  for (std::int64_t i = 0; i < kShown; ++i) {
    map.row_names.push_back(text.spell(std::span(ids).subspan(static_cast<std::size_t>(i), 1)));
    for (std::int64_t j = 0; j < kShown; ++j) {
      map.shares.push_back(static_cast<double>(weights[static_cast<std::size_t>(
          (i * run.model().options().heads + head.head) * kShown + j)]));
    }
  }
  map.column_names = map.row_names;
  return map;
}

// FNV-1a, 64 bits.
std::string fingerprint(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("a text of {} bytes with hash {:016x}", text.size(), hash);
}

}  // namespace

void train_text(const TrainRequest& request) {
  const std::string own = request.text.empty() ? "" : read_text_file(request.text);
  if (request.text.empty() && built_in_text().empty()) {
    throw usage("--text: this build has no book of its own; pass a text file");
  }
  const CharacterText text = split_text(request.text.empty() ? built_in_text() : own, "--text");
  const std::int64_t steps = request.steps > 0 ? request.steps : kSteps;
  SequenceModelOptions options;
  options.kinds = text.count();
  options.length = kLength;
  options.d = 128;
  options.heads = 4;
  options.layers = 2;
  options.hidden = 512;
  TrainRequest of_this_text = request;
  if (!own.empty()) of_this_text.data = fingerprint(own);
  TrainingFolder folder(of_this_text, {{"with-positions", steps, kBatch * kLength},
                                       {"without-positions", steps, kBatch * kLength}});
  const double trigram = trigram_loss(text);
  const std::vector<SequenceBatch> some = check_windows(text, 2 * kBatch),
                                   all = check_windows(text, 1 << 20);
  Json report = {
      {"training", "text"},
      {"seed", request.seed},
      {"steps", steps},
      {"characters_a_step", kBatch * kLength},
      {"source", request.text.empty() ? "Genesis to Deuteronomy, King James Version" : "a file"},
      {"characters", text.learn.size() + text.check.size()},
      {"kinds", text.count()},
      {"checked_on", "the last tenth"},
      {"trigram_loss", trigram},
      {"models", Json::array()}};
  LineChart curves{"Loss on part of the text held out", "step", "nats a character", {}};
  LineChart learning{"Loss while learning", "step", "nats a character", {}};
  curves.from_zero = learning.from_zero = false;
  std::vector<Picture> maps;
  for (const bool positions : {true, false}) {
    const std::string name = positions ? "with-positions" : "without-positions";
    options.positions = positions;
    SequenceRun run(options, {steps, 50, 3e-3f}, request.seed, request.execution,
                    [&](std::int64_t step) { return random_windows(text, request.seed, step); });
    run.watch(kWatchEvery, [&](Curves& of) {
      of["held out"].push_back(static_cast<float>(mean_loss(run, some)));
    });
    const Curves of = folder.train(run);
    const double loss = mean_loss(run, all);
    const std::vector<HeadScore> heads = score_heads(run, text, request.seed);
    const std::string written = sample(run, text, request.seed);
    Json json = {{"name", name},
                 {"parameters", run.parameters().count()},
                 {"loss", loss},
                 {"bits_a_character", loss / std::log(2.0)},
                 {"below_trigram", loss < trigram},
                 {"heads", Json::array()},
                 {"sample", as_utf8(written)}};
    for (const HeadScore& head : heads) {
      json["heads"].push_back({{"layer", head.layer + 1},
                               {"head", head.head + 1},
                               {"previous_token", head.previous},
                               {"induction", head.induction}});
    }
    report["models"].push_back(json);
    fmt::print("  held out: {:.3f} nats a character; a trigram model {:.3f}\n", loss, trigram);
    for (const HeadScore& head : heads) {
      fmt::print("  layer {} head {}: {:.2f} on the character before, induction {:.2f}\n",
                 head.layer + 1, head.head + 1, head.previous, head.induction);
    }
    const int colour = positions ? 0 : 1;
    const std::string words = positions ? "with positions" : "without positions";
    learning.series.push_back(smoothed(words, curve_of(of, "loss"), colour));
    Series held_out = smoothed(words, curve_of(of, "held out"), colour, kWatchEvery, 1000);
    curves.series.push_back(held_out);
    if (!positions) continue;
    fmt::print("  it writes: {}\n", in_quotes(as_utf8(written.substr(0, 150))));
    const auto best = [&](double HeadScore::* kind) {
      return *std::ranges::max_element(heads, {}, kind);
    };
    maps.emplace_back(map_of(run, text, best(&HeadScore::previous), "Most on the one before"));
    maps.emplace_back(map_of(run, text, best(&HeadScore::induction), "Most induction"));
  }
  Series line;
  line.name = "trigram model";
  line.x = {0, static_cast<double>(steps)};
  line.y = {trigram, trigram};
  line.dashed = true;
  line.colour = 7;
  curves.series.push_back(line);
  std::vector<Picture> pictures = {curves, learning};
  pictures.insert(pictures.end(), maps.begin(), maps.end());
  folder.write_text("text.svg", svg_page("A model of characters", pictures, 2));
  folder.write_report(report);
}

}  // namespace qkv::app
