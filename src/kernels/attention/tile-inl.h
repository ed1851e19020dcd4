// Many query rows at once: the lanes of vectors are rows, so that every chain of contract A is a
// vertical fused multiply-add, keys and values are read where they lie, as broadcasts, and any
// number of lanes gives the same bits.
#ifndef QKV_KERNELS_ATTENTION_TILE_INL_H_
#define QKV_KERNELS_ATTENTION_TILE_INL_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/attention/dot-inl.h"
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

// One tile on its way over the keys. Scratch memory: see tile_scratch_floats().
template <int QV>
class Tile {
 public:
  static constexpr int kRows = QV * kLanes;

  Tile(const Problem& p, const RowTile& rows, KeyRange keys, std::byte* scratch,
       const Control& control)
      : p_(p),
        rows_(rows),
        control_(control),
        places_(p, rows, keys),
        d_qk_(p.d_qk()),
        d_v_(p.d_v()),
        scratch_(scratch) {
    queries_ = scratch_.floats(d_qk_ * kRows);
    s_ = scratch_.floats(kBlock * kRows);
    key_rows_ = scratch_.floats(in_place(p.key) ? 0 : kBlock * d_qk_);
    value_rows_ = scratch_.floats(in_place(p.value) ? 0 : kBlock * d_v_);
    // The widened queries are needed only until they are transposed, into the first state's place.
    stack_ = scratch_.floats(0);
    float* widened = in_place(p.query) ? nullptr : scratch_.floats(kRows * d_qk_);
    transpose_queries(p, rows, kRows, widened, queries_);
  }

  // The contract's tree over the tile's spans; leaves the states in rows.
  void run(float* states) {
    TreeFold fold;
    const KeyRange all = places_.any;
    for (std::int64_t span = all.begin / kSpan; span * kSpan < all.end; ++span) {
      if (control_.cancelled()) return;
      const int merges = fold.merges_before(span);
      for (int n = 0; n < merges; ++n) merge_top(fold.depth() - 2 - n);
      fold.push(span, span);
      add_span({std::max(all.begin, span * kSpan), std::min(all.end, (span + 1) * kSpan)},
               state(fold.depth() - 1));
    }
    for (int top = fold.depth() - 1; top > 0; --top) merge_top(top - 1);
    if (fold.depth() == 0) clear(state(0));
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
                                   rows_.sequence.key_row(keys.begin), count, key_rows_);
    reset(bounds);
    for (int first = 0; first < count; first += kKeysAtOnce) {
      // Beyond the last key, the last one again: its copies are not used.
      const float* row[kKeysAtOnce];
      for (int n = 0; n < kKeysAtOnce; ++n) row[n] = k.row(std::min(first + n, count - 1));
      dot_keys<QV, kKeysAtOnce>(queries_, kRows, d_qk_, row, p_.scale, s_ + first * kRows, bounds);
    }
    const bool modified = has_modifiers(p_);
    if (!modified && live == Live::kAll) return true;
    const ScoreBlock block{s_, 1, kRows, rows_.rows, kRows, keys};
    if (modified) modify_scores(p_, rows_, places_, block);
    if (live != Live::kAll) hide_masked(block, words);
    reset(bounds);
    for (int key = 0; key < count; ++key) {
      for (int v = 0; v < QV; ++v) {
        const V s = load(s_ + key * kRows + v * kLanes);
        bounds.high[v] = max_number(s, bounds.high[v]);
        bounds.low[v] = min_number(s, bounds.low[v]);
      }
    }
    return true;
  }

  const float* scores() const { return s_; }
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

  void add_span(KeyRange keys, const TileState& x) {
    clear(x);
    for (std::int64_t block = keys.begin / kBlock; block * kBlock < keys.end; ++block) {
      const KeyRange part{std::max(keys.begin, block * kBlock),
                          std::min(keys.end, (block + 1) * kBlock)};
      Bounds<QV> bounds;
      if (score_block(part, bounds)) add_block(part, bounds, x);
    }
  }

  // Rule 3. From an empty state (m = -inf, l = 0, o = 0) a is +0 and the formulas give l = L, o = B
  // by themselves, but for the sign of a zero, which no result shows.
  void add_block(KeyRange keys, const Bounds<QV>& bounds, const TileState& x) {
    const int count = static_cast<int>(keys.end - keys.begin);
    const FloatRows v = float_rows(p_.value, rows_.sequence.buffer, rows_.key_head,
                                   rows_.sequence.key_row(keys.begin), count, value_rows_);
    bool clean = true;  // no score is -inf: nothing is masked
    for (int n = 0; n < QV; ++n) clean = clean && all(less(set(-kInfinity), bounds.low[n]));
    const bool selecting = !clean && !all_finite(v, count, d_v_);
    V a[QV];
    if (clean) {
      add_weights<false>(count, bounds, x, a, zero());
    } else {
      add_weights<true>(count, bounds, x, a, set(selecting ? kMaskedWeight : 0.0f));
    }
    std::int64_t c = 0;
    if (selecting) {
      for (; c < d_v_; ++c) {
        add_column_selecting<QV>(s_, kRows, count, v.data + c, v.stride, a, x.o + c * kRows);
      }
      return;
    }
    for (; c + kKeysAtOnce <= d_v_; c += kKeysAtOnce) {
      add_columns<QV, kKeysAtOnce>(s_, kRows, count, v.data + c, v.stride, a, x.o + c * kRows);
    }
    for (; c < d_v_; ++c) {
      add_columns<QV, 1>(s_, kRows, count, v.data + c, v.stride, a, x.o + c * kRows);
    }
  }

  // Scores become weights p = exp(s - m'); m and l move on; a is what the sums are scaled by.
  template <bool kMasked>
  void add_weights(int count, const Bounds<QV>& bounds, const TileState& x, V* a, V masked_weight) {
    float* const scores = s_;  // a local, since stores of floats might change a member
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
  Scratch scratch_;
  float* queries_;     // [d_qk][kRows]
  float* s_;           // [kBlock][kRows] scores, then weights
  float* key_rows_;    // [kBlock][d_qk] if keys can't be read in place
  float* value_rows_;  // [kBlock][d_v] likewise
  float* stack_;       // TileStates
};

template <int QV>
inline std::int64_t tile_scratch_floats(const Problem& p) {
  constexpr std::int64_t rows = Tile<QV>::kRows;
  const std::int64_t states = TreeFold::states_at_most(p.keys() / kSpan + 2);
  const std::int64_t queries = in_place(p.query) ? 0 : rows * p.d_qk();
  return p.d_qk() * rows + kBlock * rows + (in_place(p.key) ? 0 : kBlock * p.d_qk()) +
         (in_place(p.value) ? 0 : kBlock * p.d_v()) +
         std::max(states * (2 + p.d_v()) * rows, queries) + 8 * Scratch::kAlignFloats;
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_ATTENTION_TILE_INL_H_
