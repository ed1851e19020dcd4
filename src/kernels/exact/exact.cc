#include "kernels/exact/exact.h"

#include <algorithm>
#include <limits>

#include "kernels/exact/functions.h"
#include "kernels/exact/pair.h"
#include "kernels/exact/tree_sum.h"
#include "tensor/element.h"

namespace qkv::exact {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

RowState empty_state(const Problem& p) {
  return {-kInfinity, 0.0f, std::vector<float>(static_cast<std::size_t>(p.d_v()))};
}

// Rule 3: one block of keys joins the state of its span.
void add_block(RowState& state, const Pair& row, KeyRange keys, Observer* observer) {
  const Problem& p = row.p;
  Block block{keys, keys.begin / kSpan, {}, state.m, empty_state(p), 1.0f};
  float& m = block.sums.m = state.m;
  for (Pair at = row; (at.j = keys.begin) < keys.end; ++keys.begin) {
    if (masked(at)) continue;
    const float t = query_times_key(at), s = score(at, t);
    if (s == -kInfinity) continue;
    block.live.push_back({at.j, t, s, 0.0f});
    if (s > m) m = s;
  }

  float& l = block.sums.l;
  std::vector<float>& o = block.sums.o;
  const std::int64_t b = row.sequence.buffer, kv = p.key_head(row.head);
  for (LiveKey& key : block.live) {
    key.exp = exp(key.s - m);
    l = l + key.exp;
    if (!kept(p, row.sequence, row.head, row.position, key.j)) continue;
    for (std::size_t c = 0; c < o.size(); ++c) {
      const auto column = static_cast<std::int64_t>(c);
      const std::int64_t at = offset_of(p.value, b, kv, row.sequence.key_row(key.j), column);
      o[c] = fma(key.exp, load_float(p.value, at), o[c]);
    }
  }
  if (state.l == 0) {
    state = block.sums;
  } else if (!block.live.empty()) {
    block.a = exp(state.m - m);
    state.l = fma(state.l, block.a, l);
    for (std::size_t c = 0; c < o.size(); ++c) state.o[c] = fma(state.o[c], block.a, o[c]);
    state.m = m;
  }
  if (observer != nullptr) observer->block(block, state);
}

// Rule 4: the node of the tree that covers `spans` spans (a power of two) from `first` on.
RowState node(const Pair& row, KeyRange keys, std::int64_t first, std::int64_t spans,
              Observer* observer) {
  const std::int64_t begin = std::max(keys.begin, first * kSpan);
  const std::int64_t end = std::min(keys.end, (first + spans) * kSpan);
  if (begin >= end) return empty_state(row.p);
  if (spans > 1) {
    const std::int64_t middle = first + spans / 2;
    const RowState x = node(row, keys, first, spans / 2, observer),
                   y = node(row, keys, middle, spans / 2, observer);
    RowState both = merge(x, y);
    if (observer != nullptr && begin < middle * kSpan && middle * kSpan < end) {
      observer->merged(first, middle, first + spans, x, y, both);
    }
    return both;
  }
  RowState state = empty_state(row.p);
  for (std::int64_t block = begin / kBlock; block * kBlock < end; ++block) {
    add_block(state, row, {std::max(begin, block * kBlock), std::min(end, (block + 1) * kBlock)},
              observer);
  }
  return state;
}

void finish_row(const Pair& row, const RowState& state) {
  const Problem& p = row.p;
  const std::int64_t b = row.sequence.buffer;
  if (p.out.defined()) {
    for (std::int64_t c = 0; c < p.d_v(); ++c) {
      store_result(p.out, offset_of(p.out, b, row.head, row.query_row(), c),
                   out_of(state, c) * p.dropout_factor);
    }
  }
  const std::pair<const MutableTensorView*, float> numbers[] = {
      {&p.lse, lse_of(state)}, {&p.row_max, state.m}, {&p.row_sum, state.l}};
  for (const auto& [view, number] : numbers) {
    if (!view->defined()) continue;
    store_result(*view, offset_of(*view, b, row.head, row.query_row(), 0), number);
  }
}

void weights_row(Pair row, const RowState& state, std::int64_t offset) {
  const Problem& p = row.p;
  for (std::int64_t column = 0; column < p.keys(); ++column) {
    store_result(p.weights, offset + column * p.weights.strides[3], 0.0f);
  }
  if (state.l == 0) return;
  const KeyRange visible = p.visible_keys(row.sequence, row.position);
  for (row.j = visible.begin; row.j < visible.end; ++row.j) {
    if (masked(row)) continue;
    const float s = score(row, query_times_key(row));
    if (s == -kInfinity) continue;
    store_result(p.weights, offset + row.key_row() * p.weights.strides[3], weight_of(state, s));
  }
}

}  // namespace

RowState merge(const RowState& x, const RowState& y) {
  if (x.l == 0) return y;
  if (y.l == 0) return x;
  if (y.m > x.m) return merge(y, x);
  const float e = exp(y.m - x.m);
  RowState both{x.m, fma(y.l, e, x.l), x.o};
  for (std::size_t c = 0; c < both.o.size(); ++c) both.o[c] = fma(y.o[c], e, x.o[c]);
  return both;
}

RowState row_state(const Problem& p, const Sequence& sequence, std::int64_t head, std::int64_t i,
                   KeyRange keys, Observer* observer) {
  const Pair row{p, sequence, head, i, sequence.position(i), 0};
  const KeyRange visible = p.visible_keys(sequence, row.position);
  keys = {std::max(keys.begin, visible.begin), std::min(keys.end, visible.end)};
  std::int64_t spans = 1;
  while (spans * kSpan < keys.end) spans *= 2;
  return node(row, keys, 0, spans, observer);
}

// Rule 5.
RowState final_state(const Problem& p, const Sequence& sequence, std::int64_t head, std::int64_t i,
                     Observer* observer) {
  if (i >= sequence.queries) return empty_state(p);
  RowState state =
      row_state(p, sequence, head, i, {sequence.first_key, sequence.end_key}, observer);
  const float logit = p.options.sinks.empty() ? -kInfinity : p.options.sinks[head];
  if (logit == -kInfinity) return state;
  RowState sink = empty_state(p);
  sink.m = logit;
  sink.l = 1.0f;
  RowState both = merge(state, sink);
  if (observer != nullptr) observer->sink(state, logit, both);
  return both;
}

float out_of(const RowState& state, std::int64_t column) {
  return state.l == 0 ? 0.0f : state.o[static_cast<std::size_t>(column)] / state.l;
}

float lse_of(const RowState& state) {
  return state.l == 0 ? -kInfinity : static_cast<float>(double{state.m} + log(double{state.l}));
}

float weight_of(const RowState& state, float s) { return exp(s - state.m) / state.l; }

void attention(const Problem& p) {
  for (std::int64_t b = 0; b < p.sequences; ++b) {
    const Sequence sequence = p.sequence(b);
    for (std::int64_t head = 0; head < p.query_heads(); ++head) {
      for (std::int64_t i = 0; i < sequence.query_rows; ++i) {
        const Pair row{p, sequence, head, i, sequence.position(i), 0};
        finish_row(row, final_state(p, sequence, head, i));
      }
    }
  }
  if (!p.weights.defined()) return;
  const WeightsSelection& chosen = p.outputs.selection;
  for (std::int64_t b = 0; b < p.weights.extents[0]; ++b) {
    for (std::int64_t h = 0; h < p.weights.extents[1]; ++h) {
      for (std::int64_t r = 0; r < p.weights.extents[2]; ++r) {
        const std::int64_t head = chosen.heads.empty() ? h : chosen.heads[h];
        const std::int64_t query_row = chosen.rows.empty() ? r : chosen.rows[r];
        const Sequence sequence = p.sequence_of_row(b, query_row);
        const std::int64_t i = query_row - sequence.query_begin;
        const Pair row{p, sequence, head, i, sequence.position(i), 0};
        weights_row(row, final_state(p, sequence, head, i), offset_of(p.weights, b, h, r, 0));
      }
    }
  }
}

void matmul(const TensorView& a, const TensorView& b, const MutableTensorView& out) {
  for (std::int64_t x = 0; x < out.extents[0]; ++x) {
    for (std::int64_t y = 0; y < out.extents[1]; ++y) {
      for (std::int64_t m = 0; m < out.extents[2]; ++m) {
        for (std::int64_t n = 0; n < out.extents[3]; ++n) {
          store_result(out, offset_of(out, x, y, m, n),
                       dot(a, offset_of(a, x, y, m, 0), a.strides[3], b, offset_of(b, x, y, 0, n),
                           b.strides[2], a.extents[3]));
        }
      }
    }
  }
}

void matmul_over_rows(const TensorView& a, const TensorView& b, const MutableTensorView& out) {
  for (std::int64_t x = 0; x < out.extents[0]; ++x) {
    for (std::int64_t y = 0; y < out.extents[1]; ++y) {
      for (std::int64_t m = 0; m < out.extents[2]; ++m) {
        const Sums sums = tree_sum(0, a.extents[2], out.extents[3], [&](std::int64_t r, Sums& s) {
          const float factor = load_float(a, offset_of(a, x, y, r, m));
          for (std::size_t n = 0; n < s.size(); ++n) {
            const auto column = static_cast<std::int64_t>(n);
            s[n] = fma(factor, load_float(b, offset_of(b, x, y, r, column)), s[n]);
          }
        });
        for (std::size_t n = 0; n < sums.size(); ++n) {
          store_result(out, offset_of(out, x, y, m, static_cast<std::int64_t>(n)), sums[n]);
        }
      }
    }
  }
}

}  // namespace qkv::exact
