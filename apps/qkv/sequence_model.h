// A decoder: tokens, blocks of causal attention and MLP, logits of the next token. What `qkv train
// text` and `qkv train copy` train.
#ifndef QKV_APPS_QKV_SEQUENCE_MODEL_H_
#define QKV_APPS_QKV_SEQUENCE_MODEL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "qkv/nn.h"
#include "qkv/positions.h"
#include "training.h"

namespace qkv::app {

struct SequenceModelOptions {
  std::int64_t kinds = 0;   // of tokens
  std::int64_t length = 0;  // of a sequence, at most
  std::int64_t d = 64, heads = 2, layers = 2, d_head = 32;
  std::int64_t hidden = 0;  // of the MLP; 0: blocks of attention alone
  bool positions = true;    // rotary ones of queries and keys (RoPE); false: none at all
};

class SequenceModel {
 public:
  SequenceModel(nn::Parameters& parameters, const SequenceModelOptions& options,
                random::Generator& rng);
  // Logits [batch, length, kinds] of sequences of ids, one after the other.
  nn::Var operator()(nn::Tape& tape, std::span<const std::int64_t> ids, std::int64_t batch) const;
  // The weights of a layer's heads in the last call: [batch, length, heads, length].
  nn::Var weights(nn::Tape& tape, std::int64_t layer) const;
  const SequenceModelOptions& options() const { return options_; }

 private:
  struct Layer {
    Layer(nn::Parameters& parameters, const std::string& name, const SequenceModelOptions& options,
          random::Generator& rng);
    nn::LayerNorm norm_attention;
    nn::MultiHeadAttention attention;
    std::optional<nn::LayerNorm> norm_mlp;
    std::optional<nn::Mlp> mlp;
  };

  nn::MultiHeadAttention::Extras extras(std::int64_t length) const;

  SequenceModelOptions options_;
  nn::Embedding embedding_;
  std::deque<Layer> layers_;
  nn::LayerNorm norm_;
  nn::Linear out_;
  RotaryTables tables_;  // of `length` positions
};

// A batch of sequences: ids, and what shall follow each (negative: doesn't count).
struct SequenceBatch {
  std::vector<std::int64_t> ids, targets;
  std::int64_t count = 0;
};

// Mean loss and share of right answers, over what counts.
struct SequenceScore {
  double loss = 0, right = 0;
};

// The model with its optimiser; `next_batch` of a step's number is its data.
class SequenceRun : public Trainable {
 public:
  struct Schedule {
    std::int64_t steps = 0, warm_up = 50;
    float learning_rate = 2e-3f;
  };
  SequenceRun(const SequenceModelOptions& options, const Schedule& schedule, std::uint64_t seed,
              const ExecutionOptions& execution,
              std::function<SequenceBatch(std::int64_t step)> next_batch);
  nn::Parameters& parameters() override { return parameters_; }
  nn::Optimizer& optimizer() override { return optimizer_; }
  void step(Curves& curves) override;

  // Called after every `every`-th step and at the end, for curves of its own.
  void watch(std::int64_t every, std::function<void(Curves&)> watcher);
  SequenceScore score(const SequenceBatch& batch);
  // Logits of ids, [length, kinds] of one sequence.
  std::vector<float> logits(std::span<const std::int64_t> ids);
  // Weights of a layer's heads on one sequence: [length, heads, length].
  std::vector<float> weights(std::span<const std::int64_t> ids, std::int64_t layer);
  const SequenceModel& model() const { return model_; }

 private:
  std::vector<float> numbers(nn::Var of);

  Schedule schedule_;
  std::function<SequenceBatch(std::int64_t)> next_batch_;
  std::int64_t watch_every_ = 0;
  std::function<void(Curves&)> watcher_;
  random::Generator rng_;
  nn::Parameters parameters_;
  SequenceModel model_;
  nn::AdamW optimizer_;
  nn::Tape tape_;
};

// Numbers of a stream of a seed: equal for equal arguments.
random::Generator stream(std::uint64_t seed, std::uint32_t kind, std::int64_t number);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_SEQUENCE_MODEL_H_
