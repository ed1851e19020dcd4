#include "kernels/reference/reference.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/reference/functions.h"
#include "tensor/element.h"

namespace qkv::reference {
namespace {

// T is the type of every operation: double, or float for the yardstick.
template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

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

  // The final score of key j; -inf if it is masked.
  T score(std::int64_t j) const {
    const std::int64_t b = sequence.buffer, kv = p.key_head(head), row = sequence.key_row(j);
    if (hidden(j, row)) return -kInfinity<T>;
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

template <class T>
void attention_row(const Row<T>& row, std::span<T> scores) {
  const Problem& p = row.p;
  const Sequence& seq = row.sequence;
  const Softmax<T> soft = softmax(row, scores);
  if (p.out.defined()) {
    for (std::int64_t c = 0; c < p.d_v(); ++c) {
      T sum = 0;
      for (std::int64_t j = soft.keys.begin; j < soft.keys.end; ++j) {
        const T weight = scores[j - soft.keys.begin];
        if (weight == kMasked<T>) continue;  // takes no part: 0 * NaN would be NaN
        sum += weight * row.load(p.value, offset_of(p.value, seq.buffer, p.key_head(row.head),
                                                    seq.key_row(j), c));
      }
      store_result(p.out, offset_of(p.out, seq.buffer, row.head, row.query_row(), c),
                   soft.live ? sum / soft.l : T{0});
    }
  }
  if (p.lse.defined()) {
    const bool empty = !soft.live && soft.l == 0;
    const double lse =
        empty ? -kInfinity<double> : static_cast<double>(soft.m) + log(static_cast<double>(soft.l));
    store_result(p.lse, offset_of(p.lse, seq.buffer, row.head, row.query_row(), 0), lse);
  }
}

const ScoreMod64 kNoScoreMod;

template <class T>
void weights_row_of(const Problem& p, const ScoreMod64& score_mod, std::int64_t batch,
                    std::int64_t head, std::int64_t row, std::span<T> scores) {
  const WeightsSelection& chosen = p.outputs.selection;
  const std::int64_t query_head = chosen.heads.empty() ? head : chosen.heads[head];
  const std::int64_t query_row = chosen.rows.empty() ? row : chosen.rows[row];
  const Sequence seq = p.sequence_of_row(batch, query_row);
  const Softmax<T> soft =
      softmax(Row<T>{p, seq, score_mod, query_head, query_row - seq.query_begin}, scores);
  const std::int64_t offset = offset_of(p.weights, batch, head, row, 0);
  for (std::int64_t column = 0; column < p.keys(); ++column) {
    store_result(p.weights, offset + column * p.weights.strides[3], T{0});
  }
  for (std::int64_t j = soft.keys.begin; soft.live && j < soft.keys.end; ++j) {
    store_result(
        p.weights, offset + seq.key_row(j) * p.weights.strides[3],
        scores[j - soft.keys.begin] == kMasked<T> ? T{0} : scores[j - soft.keys.begin] / soft.l);
  }
}

template <class T>
void attention_all(const Problem& p, const ScoreMod64& score_mod) {
  std::vector<T> scores(static_cast<std::size_t>(p.keys()));
  for (std::int64_t b = 0; b < p.sequences; ++b) {
    const Sequence sequence = p.sequence(b);
    for (std::int64_t head = 0; head < p.query_heads(); ++head) {
      for (std::int64_t i = 0; i < sequence.query_rows; ++i) {
        attention_row(Row<T>{p, sequence, score_mod, head, i}, std::span<T>(scores));
      }
    }
  }
  if (!p.weights.defined()) return;
  for (std::int64_t b = 0; b < p.weights.extents[0]; ++b) {
    for (std::int64_t h = 0; h < p.weights.extents[1]; ++h) {
      for (std::int64_t r = 0; r < p.weights.extents[2]; ++r) {
        weights_row_of(p, score_mod, b, h, r, std::span<T>(scores));
      }
    }
  }
}

}  // namespace

void attention_rows(const Problem& p, const Sequence& sequence, std::int64_t head,
                    std::int64_t begin, std::int64_t end, std::span<double> scores) {
  for (std::int64_t i = begin; i < end; ++i) {
    attention_row(Row<double>{p, sequence, kNoScoreMod, head, i}, scores);
  }
}

void weights_row(const Problem& p, std::int64_t batch, std::int64_t head, std::int64_t row,
                 std::span<double> scores) {
  weights_row_of(p, kNoScoreMod, batch, head, row, scores);
}

void attention(const Problem& p, const ScoreMod64& score_mod) {
  attention_all<double>(p, score_mod);
}

void attention_plain_float(const Problem& p, const ScoreMod64& score_mod) {
  attention_all<float>(p, score_mod);
}

}  // namespace qkv::reference
