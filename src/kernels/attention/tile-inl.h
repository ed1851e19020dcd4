// Many query rows at once: the lanes of vectors are rows, so that every chain of contract A is a
// vertical fused multiply-add, keys and values are read where they lie, as broadcasts, and any
// number of lanes gives the same bits.
#ifndef QKV_KERNELS_ATTENTION_TILE_INL_H_
#define QKV_KERNELS_ATTENTION_TILE_INL_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "kernels/attention/dot-inl.h"
#include "kernels/attention/dropout-inl.h"
#include "kernels/attention/scores-inl.h"
#include "kernels/attention/scratch.h"
#include "kernels/attention/states-inl.h"
#include "kernels/attention/tree_fold.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

// Keys (columns) that dot_keys (add_columns) takes at once.
#if QKV_TARGET == QKV_TARGET_AVX512 || QKV_TARGET == QKV_TARGET_NEON
inline constexpr int kKeysAtOnce = 8;
#else
inline constexpr int kKeysAtOnce = 4;
#endif

// Columns [0, CB) of the sums: o[c][lane] = o * a + B, B = sum over keys of p[key][lane] *
// values[key][c], fused, from +0.
template <int QV, int CB>
QKV_INLINE void add_columns(const float* p, std::int64_t lanes, int keys, const float* values,
                            std::int64_t value_stride, const V* a, float* o) {
  V sum[CB][QV];
  QKV_UNROLL for (int c = 0; c < CB; ++c) {
    QKV_UNROLL for (int v = 0; v < QV; ++v) sum[c][v] = zero();
  }
  for (int key = 0; key < keys; ++key) {
    V weight[QV];
    QKV_UNROLL for (int v = 0; v < QV; ++v) weight[v] = load(p + key * lanes + v * kLanes);
    QKV_UNROLL for (int c = 0; c < CB; ++c) {
      const V value = set(values[key * value_stride + c]);
#if QKV_FAULT_CODE == QKV_FAULT_MUL_ADD
      QKV_UNROLL for (int v = 0; v < QV; ++v) sum[c][v] = weight[v] * value + sum[c][v];
#else
      QKV_UNROLL for (int v = 0; v < QV; ++v) sum[c][v] = fma(value, weight[v], sum[c][v]);
#endif
    }
  }
  QKV_UNROLL for (int c = 0; c < CB; ++c) {
    QKV_UNROLL for (int v = 0; v < QV; ++v) {
      float* place = o + c * lanes + v * kLanes;
      store(fma(load(place), a[v], sum[c][v]), place);
    }
  }
}

// Weights below 0 mark masked pairs where 0 would not do: where a value is Inf or NaN.
inline constexpr float kMaskedWeight = -1.0f;

// The same for one column, leaving masked pairs out by selection.
template <int QV>
inline void add_column_selecting(const float* p, std::int64_t lanes, int keys, const float* values,
                                 std::int64_t value_stride, const V* a, float* o) {
  for (int v = 0; v < QV; ++v) {
    V sum = zero();
    for (int key = 0; key < keys; ++key) {
      const V weight = load(p + key * lanes + v * kLanes);
      const V next = fma(set(values[key * value_stride]), weight, sum);
      sum = select(equal(weight, set(kMaskedWeight)), sum, next);
    }
    float* place = o + v * kLanes;
    store(fma(load(place), a[v], sum), place);
  }
}

// Memory that tiles use in turn, within a block.
template <int QV>
struct TileBuffers {
  float* s;           // [kBlock][rows] scores, then weights
  float* key_rows;    // [kBlock][d_qk] if keys can't be read in place
  float* value_rows;  // [kBlock][d_v] likewise

  TileBuffers(const Problem& p, Scratch& scratch) {
    s = scratch.floats(kBlock * QV * kLanes);
    key_rows = scratch.floats(in_place(p.key) ? 0 : kBlock * p.d_qk());
    value_rows = scratch.floats(in_place(p.value) ? 0 : kBlock * p.d_v());
  }
};

// One tile on its way over the keys: add() them in rising order, then finish().
template <int QV>
class Tile {
 public:
  static constexpr int kRows = QV * kLanes;

  Tile(const Problem& p, const RowTile& rows, KeyRange keys, const TileBuffers<QV>& buffers,
       Scratch& scratch, const Control& control)
      : p_(p),
        rows_(rows),
        control_(control),
        places_(p, rows, keys),
        d_qk_(p.d_qk()),
        d_v_(p.d_v()),
        buffers_(buffers) {
    queries_ = scratch.floats(d_qk_ * kRows);
    // The widened queries are needed only until they are transposed, in the place of the states.
    stack_ = scratch.floats(stack_floats(p));
    transpose_queries(p, rows, kRows, stack_, queries_);
  }

  static std::int64_t stack_floats(const Problem& p) {
    const std::int64_t states = TreeFold::states_at_most(p.keys() / kSpan + 2);
    return std::max(states * (2 + p.d_v()) * kRows, in_place(p.query) ? 0 : kRows * p.d_qk());
  }

  // Keys of whole blocks, or up to an end of the tile's own.
  void add(KeyRange keys) {
    keys = {std::max(keys.begin, places_.any.begin), std::min(keys.end, places_.any.end)};
    for (std::int64_t block = keys.begin / kBlock; block * kBlock < keys.end; ++block) {
      const KeyRange part{std::max(keys.begin, block * kBlock),
                          std::min(keys.end, (block + 1) * kBlock)};
      Bounds<QV> bounds;
      if (!score_block(part, bounds)) continue;
      start_span(part.begin / kSpan);
      add_block(part, bounds, state(fold_.depth() - 1));
    }
  }

  // Merges what is left of the contract's tree and leaves the states in rows.
  void finish(float* states) {
    for (int top = fold_.depth() - 1; top > 0; --top) merge_top(top - 1);
    if (fold_.depth() == 0) clear(state(0));
    export_rows(state(0), states);
  }

  // Scores of the keys [keys.begin, keys.end) of one block, final and with -inf for masked ones.
  // False if none is live.
  bool score_block(KeyRange keys, Bounds<QV>& bounds) {
    std::uint64_t words[kMaxTileRows];
    const Live live = live_words(p_, rows_, places_, keys, control_, words);
    if (live == Live::kNone) return false;
    const int count = static_cast<int>(keys.end - keys.begin);
    const FloatRows k = float_rows(p_.key, rows_.sequence.buffer, rows_.key_head,
                                   rows_.sequence.key_row(keys.begin), count, buffers_.key_rows);
    reset(bounds);
    for (int first = 0; first < count; first += kKeysAtOnce) {
      // Beyond the last key, the last one again: its copies are not used.
      const float* row[kKeysAtOnce];
      for (int n = 0; n < kKeysAtOnce; ++n) row[n] = k.row(std::min(first + n, count - 1));
      dot_keys<QV, kKeysAtOnce>(queries_, kRows, d_qk_, row, p_.scale, buffers_.s + first * kRows,
                                bounds);
    }
    const bool modified = has_modifiers(p_);
    if (!modified && live == Live::kAll) return true;
    const ScoreBlock block{buffers_.s, 1, kRows, rows_.rows, kRows, keys};
    if (modified) modify_scores(p_, rows_, places_, block);
    if (live != Live::kAll) hide_masked(block, words);
    reset(bounds);
    for (int key = 0; key < count; ++key) {
      for (int v = 0; v < QV; ++v) {
        const V s = load(buffers_.s + key * kRows + v * kLanes);
        bounds.high[v] = max_number(s, bounds.high[v]);
        bounds.low[v] = min_number(s, bounds.low[v]);
      }
    }
    return true;
  }

  const float* scores() const { return buffers_.s; }
  const RowPlaces& places() const { return places_; }

 private:
  // A state of all rows: m [kRows], l [kRows], o [d_v][kRows].
  struct TileState {
    float *m, *l, *o;
  };

  TileState state(int n) {
    float* first = stack_ + n * (2 + d_v_) * kRows;
    return {first, first + kRows, first + 2 * kRows};
  }

  void clear(const TileState& x) {
    for (int r = 0; r < kRows; r += kLanes) {
      store(set(-kInfinity), x.m + r);
      store(zero(), x.l + r);
    }
    for (std::int64_t n = 0; n < d_v_ * kRows; n += kLanes) store(zero(), x.o + n);
  }

  static void reset(Bounds<QV>& bounds) {
    for (int v = 0; v < QV; ++v) {
      bounds.high[v] = set(-kInfinity);
      bounds.low[v] = set(kInfinity);
    }
  }

  // The state on top of the stack becomes that of `span`, after the merges that come before it.
  void start_span(std::int64_t span) {
    if (span == span_) return;
    const int merges = fold_.merges_before(span);
    for (int n = 0; n < merges; ++n) merge_top(fold_.depth() - 2 - n);
    fold_.push(span, span);
    clear(state(fold_.depth() - 1));
    span_ = span;
  }

  // Rule 3. From an empty state (m = -inf, l = 0, o = 0) a is +0 and the formulas give l = L, o = B
  // by themselves, but for the sign of a zero, which no result shows.
  void add_block(KeyRange keys, const Bounds<QV>& bounds, const TileState& x) {
    const int count = static_cast<int>(keys.end - keys.begin);
    const FloatRows v = float_rows(p_.value, rows_.sequence.buffer, rows_.key_head,
                                   rows_.sequence.key_row(keys.begin), count, buffers_.value_rows);
    bool clean = true;  // no score is -inf: nothing is masked
    for (int n = 0; n < QV; ++n) clean = clean && all(less(set(-kInfinity), bounds.low[n]));
    const bool dropping = p_.has_dropout();
    const bool selecting = (!clean || dropping) && !all_finite(v, count, d_v_);
    V a[QV];
    if (clean) {
      add_weights<false>(count, bounds, x, a, zero());
    } else {
      add_weights<true>(count, bounds, x, a, set(selecting ? kMaskedWeight : 0.0f));
    }
    if (dropping) {
      drop_weights(p_, rows_, places_, keys, QV, buffers_.s, kRows,
                   set(selecting ? kMaskedWeight : 0.0f));
    }
    std::int64_t c = 0;
    if (selecting) {
      for (; c < d_v_; ++c) {
        add_column_selecting<QV>(buffers_.s, kRows, count, v.data + c, v.stride, a,
                                 x.o + c * kRows);
      }
      return;
    }
    for (; c + kKeysAtOnce <= d_v_; c += kKeysAtOnce) {
      add_columns<QV, kKeysAtOnce>(buffers_.s, kRows, count, v.data + c, v.stride, a,
                                   x.o + c * kRows);
    }
    for (; c < d_v_; ++c) {
      add_columns<QV, 1>(buffers_.s, kRows, count, v.data + c, v.stride, a, x.o + c * kRows);
    }
  }

  // Scores become weights p = exp(s - m'); m and l move on; a is what the sums are scaled by.
  template <bool kMasked>
  void add_weights(int count, const Bounds<QV>& bounds, const TileState& x, V* a, V masked_weight) {
    float* const scores = buffers_.s;  // a local, since stores of floats might change a member
    V m[QV], sum[QV];
    QKV_UNROLL for (int v = 0; v < QV; ++v) {
      const V before = load(x.m + v * kLanes);
      m[v] = max_number(bounds.high[v], before);
      a[v] = exp(before - m[v]);
      // A row without a live key in this block keeps its state; with m = -inf a would be NaN.
      if constexpr (kMasked) a[v] = select(equal(before, m[v]), set(1.0f), a[v]);
      sum[v] = zero();
      store(m[v], x.m + v * kLanes);
    }
    for (int key = 0; key < count; ++key) {
      QKV_UNROLL for (int v = 0; v < QV; ++v) {
        float* place = scores + key * kRows + v * kLanes;
        const V s = load(place);
        V p = exp(s - m[v]);
        if constexpr (kMasked) {
          const M masked = equal(s, set(-kInfinity));
          sum[v] = sum[v] + zero_where(masked, p);
          p = select(masked, masked_weight, p);
        } else {
          sum[v] = sum[v] + p;
        }
        store(p, place);
      }
    }
    QKV_UNROLL for (int v = 0; v < QV; ++v) {
      store(fma(load(x.l + v * kLanes), a[v], sum[v]), x.l + v * kLanes);
    }
  }

  // Rule 4 for states n and n + 1 of the stack; the result is state n.
  void merge_top(int n) {
    const TileState x = state(n), y = state(n + 1);
    for (int r = 0; r < kRows; r += kLanes) {
      const V xm = load(x.m + r), ym = load(y.m + r), xl = load(x.l + r), yl = load(y.l + r);
      const M x_empty = equal(xl, zero()), y_empty = equal(yl, zero());
      const M take_y = but_not(either(x_empty, less(xm, ym)), y_empty);
      const V high = select(take_y, ym, xm), low = select(take_y, xm, ym);
      const V e = select(either(x_empty, y_empty), zero(), exp(low - high));
      store(high, x.m + r);
      store(fma(select(take_y, xl, yl), e, select(take_y, yl, xl)), x.l + r);
      for (std::int64_t c = 0; c < d_v_; ++c) {
        const V xo = load(x.o + c * kRows + r), yo = load(y.o + c * kRows + r);
        store(fma(select(take_y, xo, yo), e, select(take_y, yo, xo)), x.o + c * kRows + r);
      }
    }
  }

  void export_rows(const TileState& x, float* states) {
    const std::int64_t stride = state_stride(d_v_);
    for (int r = 0; r < rows_.rows; ++r) {
      float* row = states + r * stride;
      row[0] = x.m[r];
      row[1] = x.l[r];
    }
    // o [d_v][kRows] to [rows][d_v]: strips of kLanes columns by 4 rows, then what is left.
    const int whole_rows = rows_.rows / 4 * 4;
    const std::int64_t whole_columns = d_v_ / kLanes * kLanes;
    for (std::int64_t c = 0; c < whole_columns; c += kLanes) {
      for (int r = 0; r < whole_rows; r += 4) {
        V strip[4];
        load_transposed4([&](int n) { return x.o + (c + n) * kRows + r; }, strip);
        for (int i = 0; i < 4; ++i) store(strip[i], states + (r + i) * stride + kStateValues + c);
      }
    }
    for (int r = 0; r < rows_.rows; ++r) {
      float* row = states + r * stride + kStateValues;
      for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < d_v_; ++c) {
        row[c] = x.o[c * kRows + r];
      }
      for (std::int64_t c = d_v_; c < stride - kStateValues; ++c) row[c] = 0.0f;
    }
  }

  const Problem& p_;
  const RowTile& rows_;
  const Control& control_;
  RowPlaces places_;
  std::int64_t d_qk_, d_v_;
  TileBuffers<QV> buffers_;
  float* queries_;  // [d_qk][kRows]
  float* stack_;    // TileStates
  TreeFold fold_;
  std::int64_t span_ = -1;  // that of the state on top of the stack
};

// Keys that tiles take in turn, so that the keys and values of such a strip stay in a cache of some
// 256 KiB while all tiles use them.
inline std::int64_t strip_keys(const Problem& p) {
  const std::int64_t bytes = 4 * std::max<std::int64_t>(1, p.d_qk() + p.d_v());
  return std::max<std::int64_t>(1, (std::int64_t{256} << 10) / bytes / kBlock) * kBlock;
}

// Tiles of the same sequence and key head, at most kTilesAtOnce.
template <int QV>
void run_tiles(const Problem& p, const RowTile* tiles, int count, KeyRange keys, float* states,
               std::byte* memory, const Control& control) {
  Scratch scratch(memory);
  const TileBuffers<QV> buffers(p, scratch);
  std::optional<Tile<QV>> running[kTilesAtOnce];
  KeyRange all{0, 0};
  for (int n = 0; n < count; ++n) {
    running[n].emplace(p, tiles[n], keys, buffers, scratch, control);
    const KeyRange any = running[n]->places().any;
    if (any.begin == any.end) continue;
    all = all.begin == all.end
              ? any
              : KeyRange{std::min(all.begin, any.begin), std::max(all.end, any.end)};
  }
  const std::int64_t strip = strip_keys(p);
  for (std::int64_t begin = all.begin / strip * strip; begin < all.end; begin += strip) {
    for (int n = 0; n < count; ++n) {
      if (control.cancelled()) return;
      running[n]->add({begin, begin + strip});
    }
  }
  const std::int64_t stride = state_stride(p.d_v());
  for (int n = 0; n < count; ++n) {
    running[n]->finish(states);
    states += tiles[n].rows * stride;
  }
}

template <int QV>
inline std::int64_t tile_scratch_floats(const Problem& p) {
  constexpr std::int64_t rows = Tile<QV>::kRows;
  const std::int64_t shared = kBlock * rows + (in_place(p.key) ? 0 : kBlock * p.d_qk()) +
                              (in_place(p.value) ? 0 : kBlock * p.d_v()) +
                              4 * Scratch::kAlignFloats;
  const std::int64_t each = p.d_qk() * rows + Tile<QV>::stack_floats(p) + 2 * Scratch::kAlignFloats;
  return shared + kTilesAtOnce * each;
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_ATTENTION_TILE_INL_H_
