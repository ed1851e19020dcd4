#include <cmath>

#include "qkv/nn.h"

namespace qkv::nn {
namespace {

Parameter& weight_of(Parameters& parameters, const std::string& name, std::int64_t in,
                     std::int64_t out, random::Generator& rng, double gain) {
  const std::int64_t shape[] = {out, in};
  return parameters.add_normal(name + ".weight", shape,
                               in == 0 ? 0 : gain / std::sqrt(static_cast<double>(in)), rng);
}

HeadSizes completed(HeadSizes sizes) {
  if (sizes.key_heads == 0) sizes.key_heads = sizes.heads;
  // Heads that don't divide d leave 0, which a call refuses.
  if (sizes.d_head == 0 && sizes.heads > 0 && sizes.d % sizes.heads == 0) {
    sizes.d_head = sizes.d / sizes.heads;
  }
  return sizes;
}

}  // namespace

Linear::Linear(Parameters& parameters, const std::string& name, std::int64_t in, std::int64_t out,
               random::Generator& rng, bool bias, double gain)
    : weight_(&weight_of(parameters, name, in, out, rng, gain)) {
  if (bias) bias_ = &parameters.add(name + ".bias", std::span(&out, 1), false);
}

Var Linear::operator()(Tape& tape, Var x) const {
  const Var weight = tape.parameter(*weight_);
  return tape.linear(x, weight, bias_ == nullptr ? Var() : tape.parameter(*bias_));
}

Embedding::Embedding(Parameters& parameters, const std::string& name, std::int64_t count,
                     std::int64_t d, random::Generator& rng, double deviation) {
  const std::int64_t shape[] = {count, d};
  table_ = &parameters.add_normal(name + ".weight", shape, deviation, rng);
  table_->decays = false;
}

Var Embedding::operator()(Tape& tape, std::span<const std::int64_t> ids,
                          std::span<const std::int64_t> shape) const {
  return tape.embedding(tape.parameter(*table_), ids, shape);
}

LearnedPositions::LearnedPositions(Parameters& parameters, const std::string& name,
                                   std::int64_t count, std::int64_t d, random::Generator& rng,
                                   double deviation) {
  const std::int64_t shape[] = {count, d};
  table_ = &parameters.add_normal(name + ".weight", shape, deviation, rng);
  table_->decays = false;
}

Var LearnedPositions::operator()(Tape& tape, Var x, std::int64_t first) const {
  const TensorView tokens = tape.value(x);
  if (!tape.status().ok()) return {};
  std::vector<std::int64_t> positions;
  if (tokens.rank >= 2) {
    const std::int64_t length = tokens.extents[tokens.rank - 2];
    const std::int64_t count = table_->value.extent(0);
    if (first < 0 || length > count || first > count - length) {
      tape.fail(invalid_argument(table_->name + ": " + std::to_string(length) +
                                 " tokens from position " + std::to_string(first) + " on for " +
                                 std::to_string(count) +
                                 " learned positions; use shorter "
                                 "sequences, or learn more"));
      return {};
    }
    for (std::int64_t n = 0; n < length; ++n) positions.push_back(first + n);
  }
  return (*this)(tape, x, positions);
}

Var LearnedPositions::operator()(Tape& tape, Var x, std::span<const std::int64_t> positions) const {
  const TensorView tokens = tape.value(x);
  if (!tape.status().ok()) return {};
  const std::int64_t count = table_->value.extent(0), d = table_->value.extent(1);
  const auto given = static_cast<std::int64_t>(positions.size());
  const bool fits = tokens.rank >= 2 && tokens.rank <= 3 && tokens.extents[tokens.rank - 1] == d &&
                    (given == tokens.extents[tokens.rank - 2] ||
                     (tokens.rank == 3 && given == tokens.extents[0] * tokens.extents[1]));
  if (!fits) {
    tape.fail(invalid_argument(table_->name + ": tokens " + shape_string(tokens) + " and " +
                               std::to_string(given) + " positions of " + std::to_string(d) +
                               " numbers don't fit; pass [batch, tokens, d] or [tokens, d], and "
                               "one position a token"));
    return {};
  }
  for (const std::int64_t position : positions) {
    if (position < 0 || position >= count) {
      tape.fail(invalid_argument(table_->name + ": position " + std::to_string(position) +
                                 " is not among the " + std::to_string(count) +
                                 " learned ones; count from 0"));
      return {};
    }
  }
  const bool all = tokens.rank == 3 && given != tokens.extents[1];
  const std::int64_t of_all[] = {tokens.extents[0], tokens.extents[1]};
  const auto shape = all ? std::span<const std::int64_t>(of_all) : std::span(&given, 1);
  return tape.add(x, tape.embedding(tape.parameter(*table_), positions, shape));
}

RelativeBias::RelativeBias(Parameters& parameters, const std::string& name, std::int64_t heads,
                           random::Generator& rng, const RelativeBuckets& buckets, double deviation)
    : buckets_(buckets) {
  const std::int64_t shape[] = {buckets.buckets, heads};
  table_ = &parameters.add_normal(name + ".weight", shape, deviation, rng);
  table_->decays = false;
}

Var RelativeBias::operator()(Tape& tape, std::int64_t queries, std::int64_t keys,
                             std::optional<std::int64_t> query_offset) const {
  return tape.relative_bias(tape.parameter(*table_), queries, keys, buckets_, query_offset);
}

LayerNorm::LayerNorm(Parameters& parameters, const std::string& name, std::int64_t d)
    : gain_(&parameters.add_ones(name + ".gain", std::span(&d, 1))),
      bias_(&parameters.add(name + ".bias", std::span(&d, 1), false)) {}

Var LayerNorm::operator()(Tape& tape, Var x) const {
  const Var gain = tape.parameter(*gain_), bias = tape.parameter(*bias_);
  return tape.layer_norm(x, gain, bias);
}

RmsNorm::RmsNorm(Parameters& parameters, const std::string& name, std::int64_t d)
    : gain_(&parameters.add_ones(name + ".gain", std::span(&d, 1))) {}

Var RmsNorm::operator()(Tape& tape, Var x) const {
  return tape.rms_norm(x, tape.parameter(*gain_));
}

Mlp::Mlp(Parameters& parameters, const std::string& name, std::int64_t d, std::int64_t hidden,
         Activation activation, random::Generator& rng, double out_gain)
    : gate_(activation == Activation::kSilu
                ? std::optional<Linear>(std::in_place, parameters, name + ".gate", d, hidden, rng)
                : std::nullopt),
      up_(parameters, name + ".up", d, hidden, rng),
      down_(parameters, name + ".down", hidden, d, rng, true, out_gain) {}

Var Mlp::operator()(Tape& tape, Var x) const {
  if (!gate_) return down_(tape, tape.gelu(up_(tape, x)));
  const Var gate = tape.silu((*gate_)(tape, x));
  return down_(tape, tape.multiply(gate, up_(tape, x)));
}

MultiHeadAttention::MultiHeadAttention(Parameters& parameters, const std::string& name,
                                       const HeadSizes& sizes, random::Generator& rng, bool bias,
                                       double out_gain)
    : sizes_(completed(sizes)),
      query_(parameters, name + ".query", sizes_.d, sizes_.heads * sizes_.d_head, rng, bias),
      key_(parameters, name + ".key", sizes_.d, sizes_.key_heads * sizes_.d_head, rng, bias),
      value_(parameters, name + ".value", sizes_.d, sizes_.key_heads * sizes_.d_head, rng, bias),
      out_(parameters, name + ".out", sizes_.heads * sizes_.d_head, sizes_.d, rng, bias, out_gain) {
}

Var MultiHeadAttention::operator()(Tape& tape, Var of_query, Var of_key, Var of_value,
                                   const Extras& extras) const {
  for (const Var tokens : {of_query, of_key, of_value}) {
    const TensorView of = tape.value(tokens);
    if (tape.status().ok() && of.rank != 3) {
      tape.fail(invalid_argument("attention: tokens " + shape_string(of) +
                                 " must be [batch, tokens, d]; reshape them"));
    }
  }
  if (tape.status().ok() && sizes_.d_head == 0) {
    tape.fail(invalid_argument("attention: tokens of " + std::to_string(sizes_.d) +
                               " numbers can't be shared out to " + std::to_string(sizes_.heads) +
                               " heads; pass a number of heads that divides them, or d_head"));
  }
  if (!tape.status().ok()) return {};
  const auto heads = [&](const Linear& map, Var tokens, std::int64_t count) {
    const TensorView of = tape.value(tokens);
    const std::int64_t shape[] = {of.extents[0], of.extents[1], count, sizes_.d_head};
    return tape.reshape(map(tape, tokens), shape);
  };
  Var q = heads(query_, of_query, sizes_.heads);
  Var k = heads(key_, of_key, sizes_.key_heads);
  const Var v = heads(value_, of_value, sizes_.key_heads);
  if (extras.rotate) {
    q = extras.rotate(tape, q);
    k = extras.rotate(tape, k);
  }
  last_query_ = q;
  last_key_ = k;
  const Var mixed = tape.attention(q, k, v, extras.options, extras.bias);
  const TensorView of = tape.value(of_query);
  if (!tape.status().ok()) return {};
  const std::int64_t shape[] = {of.extents[0], of.extents[1], sizes_.heads * sizes_.d_head};
  return out_(tape, tape.reshape(mixed, shape));
}

Var MultiHeadAttention::last_weights(Tape& tape, const Extras& extras) const {
  const TensorView key = tape.value(last_key_);
  if (!key.defined()) {
    tape.fail(invalid_argument(
        "last_weights: this attention was not called on the tape since it was cleared; call it"));
    return {};
  }
  const std::int64_t keys = key.extents[1];
  std::vector<float> unit(static_cast<std::size_t>(keys * keys));
  for (std::int64_t n = 0; n < keys; ++n) unit[static_cast<std::size_t>(n * (keys + 1))] = 1;
  TensorView rows(unit.data(), DType::kFloat32, {1, keys, 1, keys});
  rows.extents[0] = key.extents[0];
  rows.extents[2] = key.extents[2];
  rows.strides[0] = rows.strides[2] = 0;
  return tape.attention(last_query_, last_key_, tape.constant(rows), extras.options, extras.bias);
}

Block::Block(Parameters& parameters, const std::string& name, const HeadSizes& sizes,
             std::int64_t hidden, random::Generator& rng, double out_gain)
    : norm_attention_(parameters, name + ".norm_attention", sizes.d),
      norm_mlp_(parameters, name + ".norm_mlp", sizes.d),
      attention_(parameters, name + ".attention", sizes, rng, false, out_gain),
      mlp_(parameters, name + ".mlp", sizes.d, hidden, Activation::kGelu, rng, out_gain) {}

Var Block::operator()(Tape& tape, Var x, const MultiHeadAttention::Extras& extras) const {
  x = tape.add(x, attention_(tape, norm_attention_(tape, x), extras));
  return tape.add(x, mlp_(tape, norm_mlp_(tape, x)));
}

CrossBlock::CrossBlock(Parameters& parameters, const std::string& name, const HeadSizes& sizes,
                       std::int64_t hidden, random::Generator& rng, double out_gain)
    : norm_self_(parameters, name + ".norm_self", sizes.d),
      norm_cross_(parameters, name + ".norm_cross", sizes.d),
      norm_mlp_(parameters, name + ".norm_mlp", sizes.d),
      self_(parameters, name + ".self", sizes, rng, false, out_gain),
      cross_(parameters, name + ".cross", sizes, rng, false, out_gain),
      mlp_(parameters, name + ".mlp", sizes.d, hidden, Activation::kGelu, rng, out_gain) {}

Var CrossBlock::operator()(Tape& tape, Var x, Var encoded, const MultiHeadAttention::Extras& self,
                           const MultiHeadAttention::Extras& cross) const {
  x = tape.add(x, self_(tape, norm_self_(tape, x), self));
  x = tape.add(x, cross_(tape, norm_cross_(tape, x), encoded, cross));
  return tape.add(x, mlp_(tape, norm_mlp_(tape, x)));
}

}  // namespace qkv::nn
