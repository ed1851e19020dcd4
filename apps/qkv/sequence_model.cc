#include "sequence_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace qkv::app {
namespace {

constexpr double kMostNorm = 1;  // gradients are clipped to it
enum : std::uint32_t { kInitial = 1 };

}  // namespace

random::Generator stream(std::uint64_t seed, std::uint32_t kind, std::int64_t number) {
  const auto of = static_cast<std::uint64_t>(number);
  const std::array<std::uint32_t, 5> entropy = {
      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), kind,
      static_cast<std::uint32_t>(of), static_cast<std::uint32_t>(of >> 32)};
  return random::Generator(entropy);
}

SequenceModel::Layer::Layer(nn::Parameters& parameters, const std::string& name,
                            const SequenceModelOptions& options, random::Generator& rng)
    : norm_attention(parameters, name + ".norm_attention", options.d),
      attention(parameters, name + ".attention", {options.d, options.heads, 0, options.d_head}, rng,
                false, 1 / std::sqrt(2.0 * static_cast<double>(options.layers))) {
  if (options.hidden == 0) return;
  norm_mlp.emplace(parameters, name + ".norm_mlp", options.d);
  mlp.emplace(parameters, name + ".mlp", options.d, options.hidden, nn::Activation::kGelu, rng,
              1 / std::sqrt(2.0 * static_cast<double>(options.layers)));
}

SequenceModel::SequenceModel(nn::Parameters& parameters, const SequenceModelOptions& options,
                             random::Generator& rng)
    : options_(options),
      embedding_(parameters, "embedding", options.kinds, options.d, rng,
                 1 / std::sqrt(static_cast<double>(options.d))),
      norm_(parameters, "norm_out", options.d),
      out_(parameters, "out", options.d, options.kinds, rng) {
  for (std::int64_t n = 0; n < options.layers; ++n) {
    layers_.emplace_back(parameters, "layer." + std::to_string(n), options, rng);
  }
  if (!options.positions) return;
  std::vector<std::int64_t> positions(static_cast<std::size_t>(options.length));
  std::iota(positions.begin(), positions.end(), 0);
  tables_ = rotary_tables(TensorView(positions.data(), {options.length}),
                          rotary_frequencies(options.d_head));
}

nn::MultiHeadAttention::Extras SequenceModel::extras(std::int64_t length) const {
  nn::MultiHeadAttention::Extras extras;
  extras.options.causal = true;
  if (!options_.positions) return extras;
  extras.rotate = [this, length](nn::Tape& tape, nn::Var heads) {
    const TensorView cosines = tables_.cosines.view().slice(0, 0, length);
    const TensorView sines = tables_.sines.view().slice(0, 0, length);
    return tape.rotate(heads, cosines, sines, RotaryLayout::kHalves);
  };
  return extras;
}

nn::Var SequenceModel::operator()(nn::Tape& tape, std::span<const std::int64_t> ids,
                                  std::int64_t batch) const {
  const std::int64_t shape[] = {batch, static_cast<std::int64_t>(ids.size()) / batch};
  const nn::MultiHeadAttention::Extras causal = extras(shape[1]);
  nn::Var x = embedding_(tape, ids, shape);
  for (const Layer& layer : layers_) {
    x = tape.add(x, layer.attention(tape, layer.norm_attention(tape, x), causal));
    if (layer.mlp) x = tape.add(x, (*layer.mlp)(tape, (*layer.norm_mlp)(tape, x)));
  }
  return out_(tape, norm_(tape, x));
}

nn::Var SequenceModel::weights(nn::Tape& tape, std::int64_t layer) const {
  nn::MultiHeadAttention::Extras causal;
  causal.options.causal = true;
  return layers_[static_cast<std::size_t>(layer)].attention.last_weights(tape, causal);
}

SequenceRun::SequenceRun(const SequenceModelOptions& options, const Schedule& schedule,
                         std::uint64_t seed, const ExecutionOptions& execution,
                         std::function<SequenceBatch(std::int64_t step)> next_batch)
    : schedule_(schedule),
      next_batch_(std::move(next_batch)),
      rng_(stream(seed, kInitial, 0)),
      model_(parameters_, options, rng_),
      optimizer_(parameters_),
      tape_(execution) {}

void SequenceRun::watch(std::int64_t every, std::function<void(Curves&)> watcher) {
  watch_every_ = every;
  watcher_ = std::move(watcher);
}

void SequenceRun::step(Curves& curves) {
  const SequenceBatch batch = next_batch_(optimizer_.steps());
  tape_.clear();
  const nn::Var loss = tape_.cross_entropy(model_(tape_, batch.ids, batch.count), batch.targets);
  parameters_.clear_gradients();
  tape_.backward(loss);
  curves["loss"].push_back(*static_cast<const float*>(tape_.value(loss).data));
  nn::clip_gradients(parameters_, kMostNorm);
  optimizer_.step(nn::cosine_schedule(optimizer_.steps(), schedule_.warm_up, schedule_.steps,
                                      schedule_.learning_rate));
  throw_if_error(optimizer_.status());
  const std::int64_t steps = optimizer_.steps();
  if (watcher_ && (steps % watch_every_ == 0 || steps == schedule_.steps)) watcher_(curves);
}

SequenceScore SequenceRun::score(const SequenceBatch& batch) {
  tape_.clear();
  const nn::Var logits = model_(tape_, batch.ids, batch.count);
  const nn::Var loss = tape_.cross_entropy(logits, batch.targets);
  throw_if_error(tape_.status());
  SequenceScore score;
  score.loss = static_cast<double>(*static_cast<const float*>(tape_.value(loss).data));
  const auto* numbers = static_cast<const float*>(tape_.value(logits).data);
  const std::int64_t kinds = model_.options().kinds;
  std::int64_t counted = 0, right = 0;
  for (std::size_t n = 0; n < batch.targets.size(); ++n) {
    if (batch.targets[n] < 0) continue;
    const float* row = numbers + static_cast<std::int64_t>(n) * kinds;
    ++counted;
    right += std::max_element(row, row + kinds) - row == batch.targets[n];
  }
  score.right =
      static_cast<double>(right) / static_cast<double>(std::max<std::int64_t>(1, counted));
  return score;
}

std::vector<float> SequenceRun::numbers(nn::Var of) {
  throw_if_error(tape_.status());
  const TensorView view = tape_.value(of);
  const auto* first = static_cast<const float*>(view.data);
  return {first, first + view.size()};
}

std::vector<float> SequenceRun::logits(std::span<const std::int64_t> ids) {
  tape_.clear();
  return numbers(model_(tape_, ids, 1));
}

std::vector<float> SequenceRun::weights(std::span<const std::int64_t> ids, std::int64_t layer) {
  tape_.clear();
  (void)model_(tape_, ids, 1);
  return numbers(model_.weights(tape_, layer));
}

}  // namespace qkv::app
