#include "kernels/exact/pair.h"

#include <algorithm>
#include <optional>

#include "kernels/exact/functions.h"
#include "tensor/element.h"

namespace qkv::exact {

float dot(const TensorView& a, std::int64_t offset_a, std::int64_t step_a, const TensorView& b,
          std::int64_t offset_b, std::int64_t step_b, std::int64_t terms) {
  float t = 0.0f;
  for (std::int64_t group = 0; group < terms; group += kGroup) {
    float u = 0.0f;
    for (std::int64_t c = group; c < std::min(group + kGroup, terms); ++c) {
      u = fma(load_float(a, offset_a + c * step_a), load_float(b, offset_b + c * step_b), u);
    }
    t = t + u;
  }
  return t;
}

float query_times_key(const Pair& at) {
  const Problem& p = at.p;
  const std::int64_t b = at.sequence.buffer, kv = p.key_head(at.head);
  return dot(p.query, offset_of(p.query, b, at.head, at.query_row(), 0), p.query.strides[3], p.key,
             offset_of(p.key, b, kv, at.key_row(), 0), p.key.strides[3], p.d_qk());
}

float capped(const Pair& at, float t) {
  const float s = t * at.p.scale;
  const std::optional<float>& cap = at.p.options.softcap;
  return cap ? *cap * tanh(s / *cap) : s;
}

// Rule 1, second half: the final score.
float score(const Pair& at, float t) {
  const Problem& p = at.p;
  const AttentionOptions& o = p.options;
  float s = capped(at, t);
  if (o.score_mod) {
    ScoreTile tile;
    tile.batch = at.sequence.index;
    tile.rows = tile.keys = 1;
    tile.heads = &at.head;
    tile.positions = &at.position;
    tile.first_key = at.j;
    tile.scores = &s;
    tile.row_stride = tile.key_stride = 1;
    o.score_mod(tile);
  }
  if (!o.alibi_slopes.empty()) {
    const std::int64_t distance = at.position > at.j ? at.position - at.j : at.j - at.position;
    s = fma(-o.alibi_slopes[at.head], static_cast<float>(distance), s);
  }
  if (p.bias.defined()) {
    s = s + load_float(p.bias, offset_of(p.bias, at.sequence.buffer, at.head, at.query_row(),
                                         at.key_row()));
  }
  return s;
}

bool masked(const Pair& at) {
  const Problem& p = at.p;
  if (p.mask.defined() && !load_bool(p.mask, offset_of(p.mask, at.sequence.buffer, at.head,
                                                       at.query_row(), at.key_row()))) {
    return true;
  }
  if (!p.options.mask_mod) return false;
  std::uint64_t live = 1;
  MaskTile tile;
  tile.batch = at.sequence.index;
  tile.rows = tile.keys = 1;
  tile.heads = &at.head;
  tile.positions = &at.position;
  tile.first_key = at.j;
  tile.live = &live;
  p.options.mask_mod(tile);
  return live == 0;
}

bool kept(const Problem& p, const Sequence& sequence, std::int64_t head, std::int64_t position,
          std::int64_t j) {
  if (!p.has_dropout()) return true;
  const Dropout& dropout = *p.options.dropout;
  return dropout_keeps(dropout.seed, j, position, head, p.dropout_stream(sequence),
                       dropout_threshold(dropout.probability));
}

}  // namespace qkv::exact
