// Layers that learn: linear maps, normalisation, attention of several heads, blocks, optimisers.
// Built on the engine's attention, gradients and matrix products, so a training gives the same bits
// on every machine and any number of threads.
//
//   qkv::nn::Parameters parameters;
//   qkv::random::Generator rng(0);
//   qkv::nn::Linear layer(parameters, "layer", 64, 10, rng);
//   qkv::nn::AdamW optimizer(parameters);
//   qkv::nn::Tape tape;
//   for (...) {
//     tape.clear();
//     qkv::nn::Var loss = tape.cross_entropy(layer(tape, tape.constant(x)), targets);
//     parameters.clear_gradients();
//     tape.backward(loss);
//     optimizer.step(1e-3f);
//   }
//
// Everything is float32, row-major. Tokens come as [B, L, d] (or [L, d]), heads as [B, L, H, d].
#ifndef QKV_NN_H_
#define QKV_NN_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qkv/error.h"
#include "qkv/options.h"
#include "qkv/positions.h"
#include "qkv/random.h"
#include "qkv/tensor.h"

namespace qkv::nn {

// ---- Parameters ---------------------------------------------------------------------------------

struct Parameter {
  std::string name;  // "block.0.attention.query.weight"
  Tensor value, gradient;
  bool decays = true;  // does weight decay apply? Not to biases, gains and embeddings
};

// All that a model learns, in the order it was added. Addresses stay.
class Parameters {
 public:
  // Zeros. A name that is taken, or a shape that can't be had, makes status() an error.
  Parameter& add(std::string name, std::span<const std::int64_t> shape, bool decays);
  // Normal numbers of that deviation, drawn in row-major order.
  Parameter& add_normal(std::string name, std::span<const std::int64_t> shape, double deviation,
                        random::Generator& rng);
  // Ones, as gains start.
  Parameter& add_ones(std::string name, std::span<const std::int64_t> shape);

  const Status& status() const { return status_; }
  std::deque<Parameter>& all() { return all_; }
  const std::deque<Parameter>& all() const { return all_; }
  Parameter* find(const std::string& name);
  std::int64_t count() const;  // numbers in all of them
  void clear_gradients();

 private:
  std::deque<Parameter> all_;
  Status status_;
};

// ---- The tape -----------------------------------------------------------------------------------

// A value on a tape; worthless after the tape is cleared, and refused then, as on another tape.
struct Var {
  int index = -1;
  std::uint64_t filling = 0;  // of which tape, since which clear()
  bool defined() const { return index >= 0; }
};

// Computes forward, remembers what was done, and goes back through it. An argument that doesn't fit
// makes status() the first error and every later value undefined; backward() then throws it.
class Tape {
 public:
  explicit Tape(const ExecutionOptions& execution = {});
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Forgets all values; their memory is used again.
  void clear();
  const Status& status() const { return status_; }
  void fail(const Status& status) {
    if (status_.ok()) status_ = status;
  }

  // -- Values ---------------------------------------------------------------------------------
  Var constant(const TensorView& values);  // float32, copied; no gradient
  Var parameter(Parameter& parameter);     // its value is read now, its gradient added to later
  TensorView value(Var x) const;           // absent for an undefined one
  // dLoss/dx after backward(); absent for constants.
  TensorView gradient(Var x) const;

  // -- Numbers --------------------------------------------------------------------------------
  Var add(Var a, Var b);  // b of a's shape, or of its last dimensions
  Var multiply(Var a, Var b);
  Var scale(Var x, float factor);
  Var gelu(Var x);  // x times the normal distribution up to x
  Var silu(Var x);  // x / (1 + exp(-x))
  Var reshape(Var x, std::span<const std::int64_t> shape);
  // Each number is dropped with that probability (Philox, by its place), the others divided by 1 -
  // it.
  Var dropout(Var x, double probability, std::uint64_t seed);

  // -- Layers ---------------------------------------------------------------------------------
  // [..., in] by weight [out, in] to [..., out], plus bias [out]. Its gradient by the weight is a
  // sum over rows (matmul_over_rows).
  Var linear(Var x, Var weight, Var bias = {});
  // Rows of table [count, d] by their numbers, in `shape`: [shape..., d]. Gradients of a row are
  // added in the order of ids.
  Var embedding(Var table, std::span<const std::int64_t> ids, std::span<const std::int64_t> shape);
  Var layer_norm(Var x, Var gain, Var bias, float epsilon = 1e-5f);
  Var rms_norm(Var x, Var gain, float epsilon = 1e-6f);
  // Attention of heads: query [B, Lq, Hq, d], key and value [B, Lk, Hkv, d] to [B, Lq, Hq, d_v].
  // `bias` [.., Lq, Lk] learns; options.bias must be absent then. backward() reads the memory of
  // options.mask and options.bias again, so it must live until then. Callbacks must not throw: the
  // tape is built without exceptions.
  Var attention(Var query, Var key, Var value, const AttentionOptions& options, Var bias = {});
  // Rotary positions: heads [B, L, H, d] turned as qkv::rotate() does, by tables [L, r / 2] or
  // [B, L, r / 2] (rotary_tables()).
  Var rotate(Var x, const TensorView& cosines, const TensorView& sines, RotaryLayout layout);
  // T5's bias [heads, queries, keys] from a table [buckets, heads], for attention(). It and its
  // gradient take heads x queries x keys numbers each: for inference in less memory there is
  // qkv::relative_bias().
  Var relative_bias(Var table, std::int64_t queries, std::int64_t keys,
                    const RelativeBuckets& buckets = {},
                    std::optional<std::int64_t> query_offset = {});
  // Mean over the last dimension but one: [B, L, d] to [B, d].
  Var mean_over_tokens(Var x);

  // -- Losses, a single number ----------------------------------------------------------------
  // Mean over rows of -log softmax(logits)[target]. Rows whose target is negative don't count.
  Var cross_entropy(Var logits, std::span<const std::int64_t> targets);
  Var mean_squared_error(Var x, const TensorView& target);

  // Adds dLoss/dparameter to the gradient of every parameter used; again if called again, as for
  // another loss of the same values. Throws the first error.
  void backward(Var loss) {
    run_backward(loss);
    throw_if_error(status_);
  }
  // The same, leaving the error in status().
  void run_backward(Var loss);

 private:
  struct Impl;

  std::unique_ptr<Impl> impl_;
  Status status_;
};

// ---- Layers -------------------------------------------------------------------------------------

// Each names its parameters "<name>.weight" and so on, and is called with a tape and its inputs.
class Linear {
 public:
  // Weights are normal with deviation `gain` / sqrt(in); biases 0.
  Linear(Parameters& parameters, const std::string& name, std::int64_t in, std::int64_t out,
         random::Generator& rng, bool bias = true, double gain = 1);
  Var operator()(Tape& tape, Var x) const;
  Parameter& weight() const { return *weight_; }

 private:
  Parameter* weight_;
  Parameter* bias_ = nullptr;
};

class Embedding {
 public:
  Embedding(Parameters& parameters, const std::string& name, std::int64_t count, std::int64_t d,
            random::Generator& rng, double deviation = 0.02);
  Var operator()(Tape& tape, std::span<const std::int64_t> ids,
                 std::span<const std::int64_t> shape) const;

 private:
  Parameter* table_;
};

// A learned row for each of `count` positions, added to tokens (Gehring et al. 2017).
class LearnedPositions {
 public:
  LearnedPositions(Parameters& parameters, const std::string& name, std::int64_t count,
                   std::int64_t d, random::Generator& rng, double deviation = 0.02);
  // x [B, L, d] or [L, d], its tokens at first, first + 1, ... An error if there are not as many.
  Var operator()(Tape& tape, Var x, std::int64_t first = 0) const;
  // One position for each token of x, or L of them for each sequence.
  Var operator()(Tape& tape, Var x, std::span<const std::int64_t> positions) const;

 private:
  Parameter* table_;
};

// A learned bias for each head and bucket of distances (T5, Raffel et al. 2020), shared by the
// layers of a model: Extras::bias of each. See qkv/positions.h. T5 has no scale: options.scale = 1.
class RelativeBias {
 public:
  RelativeBias(Parameters& parameters, const std::string& name, std::int64_t heads,
               random::Generator& rng, const RelativeBuckets& buckets = {},
               double deviation = 0.02);
  Var operator()(Tape& tape, std::int64_t queries, std::int64_t keys,
                 std::optional<std::int64_t> query_offset = {}) const;

 private:
  RelativeBuckets buckets_;
  Parameter* table_;
};

class LayerNorm {
 public:
  LayerNorm(Parameters& parameters, const std::string& name, std::int64_t d);
  Var operator()(Tape& tape, Var x) const;

 private:
  Parameter *gain_, *bias_;
};

class RmsNorm {
 public:
  RmsNorm(Parameters& parameters, const std::string& name, std::int64_t d);
  Var operator()(Tape& tape, Var x) const;

 private:
  Parameter* gain_;
};

enum class Activation { kGelu, kSilu };

// Two linear maps with a function between them; with kSilu gated, as in Shazeer 2020: down(silu(
// gate x) * up x).
class Mlp {
 public:
  Mlp(Parameters& parameters, const std::string& name, std::int64_t d, std::int64_t hidden,
      Activation activation, random::Generator& rng, double out_gain = 1);
  Var operator()(Tape& tape, Var x) const;

 private:
  std::optional<Linear> gate_;  // with kSilu
  Linear up_, down_;
};

struct HeadSizes {
  std::int64_t d = 0;          // of a token
  std::int64_t heads = 1;      // of queries
  std::int64_t key_heads = 0;  // 0: as many
  std::int64_t d_head = 0;     // 0: d / heads, which must leave no rest
};

// Several heads (Vaswani et al. 2017): each has its own W_Q, W_K, W_V, of size d_head x d; the
// results are joined and multiplied by W_O. Rows h d_head to (h + 1) d_head - 1 of
// "<name>.query.weight" are W_Q of head h, and so on. A call notes what last_query() gives, so no
// two threads may call one of these at once.
class MultiHeadAttention {
 public:
  MultiHeadAttention(Parameters& parameters, const std::string& name, const HeadSizes& sizes,
                     random::Generator& rng, bool bias = false, double out_gain = 1);

  // What a call does besides: options of attention (their offsets, masks and lengths), turning
  // queries and keys by their positions, and what learns as a bias.
  struct Extras {
    AttentionOptions options;
    std::function<Var(Tape&, Var)> rotate;  // of queries and of keys, before attention
    Var bias;
  };
  // Self-attention of x [B, L, d].
  Var operator()(Tape& tape, Var x, const Extras& extras = {}) const {
    return (*this)(tape, x, x, extras);
  }
  // Cross-attention: queries from x [B, Lq, d], keys and values from `other` [B, Lk, d].
  Var operator()(Tape& tape, Var x, Var other, const Extras& extras) const {
    return (*this)(tape, x, other, other, extras);
  }
  // Queries, keys and values from three: [B, Lq, d], [B, Lk, d], [B, Lk, d].
  Var operator()(Tape& tape, Var of_query, Var of_key, Var of_value, const Extras& extras) const;

  // Queries, keys [B, L, H, d_head] of the last call: what maps of its heads are made from.
  Var last_query() const { return last_query_; }
  Var last_key() const { return last_key_; }
  // The weights of the last call on this tape, [B, Lq, H, Lk]: an n x n table, for looking at small
  // examples. By the engine, as attention to the rows of the unit matrix; options and bias as in
  // the call. An error if there was none.
  Var last_weights(Tape& tape, const Extras& extras = {}) const;
  std::int64_t heads() const { return sizes_.heads; }

 private:
  HeadSizes sizes_;
  Linear query_, key_, value_, out_;
  mutable Var last_query_, last_key_;
};

// x + attention(norm x), then x + mlp(norm x): a block of an encoder, or with causal options of a
// decoder-only model.
class Block {
 public:
  Block(Parameters& parameters, const std::string& name, const HeadSizes& sizes,
        std::int64_t hidden, random::Generator& rng, double out_gain = 1);
  Var operator()(Tape& tape, Var x, const MultiHeadAttention::Extras& extras = {}) const;
  const MultiHeadAttention& attention() const { return attention_; }

 private:
  LayerNorm norm_attention_, norm_mlp_;
  MultiHeadAttention attention_;
  Mlp mlp_;
};

// A decoder's block that also looks at what an encoder made of another sequence.
class CrossBlock {
 public:
  CrossBlock(Parameters& parameters, const std::string& name, const HeadSizes& sizes,
             std::int64_t hidden, random::Generator& rng, double out_gain = 1);
  Var operator()(Tape& tape, Var x, Var encoded, const MultiHeadAttention::Extras& self,
                 const MultiHeadAttention::Extras& cross) const;

 private:
  LayerNorm norm_self_, norm_cross_, norm_mlp_;
  MultiHeadAttention self_, cross_;
  Mlp mlp_;
};

// ---- Optimisers ---------------------------------------------------------------------------------

// Changes parameters by their gradients; those that were added after it was made, too.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual void step(float learning_rate) = 0;

  // What an exact resume needs beside the parameters (qkv/checkpoint.h saves it): how many steps
  // were made, and named tensors, whose memory is the optimiser's own.
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }
  // kOutOfMemory if there is none for those tensors: step() changes nothing then.
  const Status& status() const { return status_; }
  virtual std::vector<std::pair<std::string, Tensor>> state() const = 0;

 protected:
  std::int64_t steps_ = 0;
  mutable Status status_;
};

// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
class AdamW : public Optimizer {
 public:
  struct Options {
    float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, weight_decay = 0.01f;
  };
  explicit AdamW(Parameters& parameters) : AdamW(parameters, Options()) {}
  AdamW(Parameters& parameters, const Options& options);
  void step(float learning_rate) override;
  // "<parameter>.first", "<parameter>.second": running means of gradients and of their squares.
  std::vector<std::pair<std::string, Tensor>> state() const override;

 private:
  bool has_memory() const;  // for every parameter; made if it isn't there

  Parameters& parameters_;
  Options options_;
  mutable std::vector<Tensor> first_, second_;
};

// v = momentum v + gradient; value -= learning_rate v.
class Sgd : public Optimizer {
 public:
  explicit Sgd(Parameters& parameters, float momentum = 0);
  void step(float learning_rate) override;
  // "<parameter>.velocity"
  std::vector<std::pair<std::string, Tensor>> state() const override;

 private:
  bool has_memory() const;

  Parameters& parameters_;
  float momentum_;
  mutable std::vector<Tensor> velocity_;
};

// Rises linearly over `warm_up` steps, then falls as half a cosine to `least` at step `steps`.
float cosine_schedule(std::int64_t step, std::int64_t warm_up, std::int64_t steps, float most,
                      float least = 0);

// Scales all gradients so that their norm, taken in double, is at most `most`. Returns the norm.
double clip_gradients(Parameters& parameters, double most);

}  // namespace qkv::nn

#endif  // QKV_NN_H_
