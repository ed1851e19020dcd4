// One query row of the reference: its scores and its softmax. Forward and backward share it.
#ifndef QKV_KERNELS_REFERENCE_ROW_H_
#define QKV_KERNELS_REFERENCE_ROW_H_

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kernels/reference/functions.h"
#include "kernels/reference/reference.h"
#include "problem/problem.h"
#include "simd/philox.h"
#include "tensor/element.h"

namespace qkv::reference {

// T is the type of every operation: double, or float for the yardstick.
template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

// What dropout leaves of a result is multiplied by this.
template <class T>
T dropout_factor(const Problem& p) {
  if (!p.has_dropout()) return 1;
  const double left = 1 - p.options.dropout->probability;
  return left == 0 ? T{0} : static_cast<T>(1 / left);
}

template <class T>
struct Row {
  const Problem& p;
  const Sequence& sequence;
  const ScoreMod64& score_mod;
  std::int64_t head, i;

  std::int64_t position() const { return sequence.position(i); }
  std::int64_t query_row() const { return sequence.query_begin + i; }

  T load(const TensorView& view, std::int64_t offset) const {
    return static_cast<T>(load_double(view, offset));
  }

  // The score of key j as softcap leaves it.
  T capped_score(std::int64_t j) const {
    const std::int64_t b = sequence.buffer, kv = p.key_head(head), row = sequence.key_row(j);
    T s = 0;
    for (std::int64_t c = 0; c < p.d_qk(); ++c) {
      s += load(p.query, offset_of(p.query, b, head, query_row(), c)) *
           load(p.key, offset_of(p.key, b, kv, row, c));
    }
    s *= static_cast<T>(p.scale64);
    if (p.options.softcap) {
      const T cap = *p.options.softcap;
      s = cap * static_cast<T>(tanh(static_cast<double>(s / cap)));
    }
    return s;
  }

  // The final score of key j; -inf if it is masked.
  T score(std::int64_t j) const {
    const std::int64_t b = sequence.buffer, row = sequence.key_row(j);
    if (hidden(j, row)) return -kInfinity<T>;
    T s = capped_score(j);
    if (score_mod) {
      s = static_cast<T>(score_mod(s, sequence.index, head, position(), j));
    }
    if (!p.options.alibi_slopes.empty()) {
      const std::int64_t distance = position() > j ? position() - j : j - position();
      s -= static_cast<T>(p.options.alibi_slopes[head]) * static_cast<T>(distance);
    }
    if (p.bias.defined()) s += load(p.bias, offset_of(p.bias, b, head, query_row(), row));
    return s;
  }

  // Does dropout, if there is any, leave key j in the weighted sum?
  bool kept(std::int64_t j) const {
    if (!p.has_dropout()) return true;
    const std::uint32_t counter[4] = {
        static_cast<std::uint32_t>(j / 4), static_cast<std::uint32_t>(position()),
        static_cast<std::uint32_t>(head), static_cast<std::uint32_t>(p.dropout_stream(sequence))};
    std::uint32_t word[4];
    philox(counter, p.options.dropout->seed, word);
    return word[j % 4] >= p.dropout_threshold;
  }
  bool hidden(std::int64_t j, std::int64_t row) const {
    if (p.mask.defined() &&
        !load_bool(p.mask, offset_of(p.mask, sequence.buffer, head, query_row(), row))) {
      return true;
    }
    if (!p.options.mask_mod) return false;
    std::uint64_t live = 1;
    const std::int64_t at = position();
    MaskTile tile;
    tile.batch = sequence.index;
    tile.rows = tile.keys = 1;
    tile.heads = &head;
    tile.positions = &at;
    tile.first_key = j;
    tile.live = &live;
    p.options.mask_mod(tile);
    return live == 0;
  }
};

template <class T>
struct Softmax {
  KeyRange keys{0, 0};  // weights[j - keys.begin]
  T m = -kInfinity<T>;  // the largest live score
  T l = 0;              // sum of exp(s - m) over live keys and sink; 0: no live key, no sink
  bool live = false;    // at least one key is live
};

// What stands for the weight of a masked key, since a live key's weight may well be 0.
template <class T>
constexpr T kMasked = -1;

// Leaves exp(s - m) of each visible key in `scores`, kMasked for masked ones.
template <class T>
Softmax<T> softmax(const Row<T>& row, std::span<T> scores) {
  Softmax<T> result;
  if (row.i >= row.sequence.queries) return result;
  result.keys = row.p.visible_keys(row.sequence, row.position());
  const std::int64_t count = result.keys.end - result.keys.begin;
  for (std::int64_t n = 0; n < count; ++n) {
    const T s = row.score(result.keys.begin + n);
    scores[n] = s;
    if (s > result.m) result.m = s;
    result.live = result.live || s != -kInfinity<T>;
  }
  const std::vector<float>& sinks = row.p.options.sinks;
  const T sink = sinks.empty() ? -kInfinity<T> : static_cast<T>(sinks[row.head]);
  const bool has_sink = sink != -kInfinity<T>;
  if (has_sink && sink > result.m) result.m = sink;
  for (std::int64_t n = 0; n < count; ++n) {
    T& weight = scores[n];
    const bool masked = weight == -kInfinity<T>;
    weight = masked ? kMasked<T> : static_cast<T>(exp(static_cast<double>(weight - result.m)));
    if (!masked) result.l += weight;
  }
  if (has_sink) result.l += static_cast<T>(exp(static_cast<double>(sink - result.m)));
  return result;
}

}  // namespace qkv::reference

#endif  // QKV_KERNELS_REFERENCE_ROW_H_
