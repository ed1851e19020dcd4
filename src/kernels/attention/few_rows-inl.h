// A few query rows (decoding): the lanes of vectors are keys for the scores and columns of the
// values for the sums. Keys are transposed a block at a time in registers; the same bits as tiles.
#ifndef QKV_KERNELS_ATTENTION_FEW_ROWS_INL_H_
#define QKV_KERNELS_ATTENTION_FEW_ROWS_INL_H_

#include <algorithm>
#include <cstdint>

#include "kernels/attention/dot-inl.h"
#include "kernels/attention/dropout-inl.h"
#include "kernels/attention/scores-inl.h"
#include "kernels/attention/scratch.h"
#include "kernels/attention/states-inl.h"
#include "kernels/attention/tree_fold.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

// Up to here lanes = keys is faster than a tile that is mostly empty.
inline constexpr int kFewRows = 4;
// Vectors of keys that dot_keys takes at once; a block is a multiple of them.
inline constexpr int kKeyVectors = 4 * kLanes <= 64 ? 4 : 1;
static_assert(64 % (kKeyVectors * kLanes) == 0);
// Score lines are whole vectors, also in builds with a block of 31.
inline constexpr std::int64_t kLine = 64;

class FewRows {
 public:
  FewRows(const Problem& p, const RowTile& rows, KeyRange keys, std::byte* scratch,
          const Control& control)
      : p_(p),
        rows_(rows),
        control_(control),
        places_(p, rows, keys),
        d_qk_(p.d_qk()),
        d_v_(p.d_v()),
        stride_(state_stride(p.d_v())),
        scratch_(scratch) {
    queries_ = scratch_.floats(in_place(p.query) ? 0 : kFewRows * d_qk_);
    s_ = scratch_.floats(kFewRows * kLine);
    transposed_ = scratch_.floats(d_qk_ * kLine);
    key_rows_ = scratch_.floats(in_place(p.key) ? 0 : kBlock * d_qk_);
    value_rows_ = scratch_.floats(in_place(p.value) ? 0 : kBlock * d_v_);
    tail_ = scratch_.floats(kBlock * kLanes);
    stack_ = scratch_.floats(0);
    for (int r = 0; r < rows.rows; ++r) {
      query_[r] = float_rows(p.query, rows.sequence.buffer, rows.heads[r],
                             rows.sequence.query_begin + rows.queries[r], 1, queries_ + r * d_qk_)
                      .data;
    }
  }

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
    std::copy_n(state(0), rows_.rows * stride_, states);
  }

 private:
  float* state(int n) { return stack_ + n * kFewRows * stride_; }

  void merge_top(int n) { merge_rows(state(n), state(n + 1), rows_.rows, d_v_); }

  void clear(float* x) {
    std::fill_n(x, rows_.rows * stride_, 0.0f);
    for (int r = 0; r < rows_.rows; ++r) x[r * stride_] = -kInfinity;
  }

  void add_span(KeyRange keys, float* x) {
    clear(x);
    for (std::int64_t block = keys.begin / kBlock; block * kBlock < keys.end; ++block) {
      add_block({std::max(keys.begin, block * kBlock), std::min(keys.end, (block + 1) * kBlock)},
                x);
    }
  }

  void add_block(KeyRange keys, float* x) {
    std::uint64_t words[kMaxTileRows];
    const Live live = live_words(p_, rows_, places_, keys, control_, words);
    if (live == Live::kNone) return;
    const int count = static_cast<int>(keys.end - keys.begin);
    score(keys, count);
    const ScoreBlock block{s_, kLine, 1, rows_.rows, rows_.rows, keys};
    if (has_modifiers(p_)) modify_scores(p_, rows_, places_, block);
    if (live != Live::kAll) hide_masked(block, words);
    for (int r = 0; r < rows_.rows; ++r) {
      words[r] = weigh(s_ + r * kLine, count, x + r * stride_, r);
      if (p_.has_dropout()) {
        words[r] &= kept_word(p_, rows_.sequence, rows_.heads[r], places_.positions[r], keys);
      }
    }
    const FloatRows v = float_rows(p_.value, rows_.sequence.buffer, rows_.key_head,
                                   rows_.sequence.key_row(keys.begin), count, value_rows_);
    switch (rows_.rows) {
      case 1:
        return add_values<1>(v, count, words, x);
      case 2:
        return add_values<2>(v, count, words, x);
      case 3:
        return add_values<3>(v, count, words, x);
      default:
        return add_values<4>(v, count, words, x);
    }
  }

  // s_[r][key] = scale * dot(query r, key), lanes = keys.
  void score(KeyRange keys, int count) {
    const FloatRows k = float_rows(p_.key, rows_.sequence.buffer, rows_.key_head,
                                   rows_.sequence.key_row(keys.begin), count, key_rows_);
    // Lanes beyond the last key repeat it; their scores are not used.
    const int lanes =
        (count + kKeyVectors * kLanes - 1) / (kKeyVectors * kLanes) * kKeyVectors * kLanes;
    transpose([&](int n) { return k.row(std::min(n, count - 1)); }, lanes, d_qk_, transposed_,
              kLine);
    for (int lane = 0; lane < lanes; lane += kKeyVectors * kLanes) {
      switch (rows_.rows) {
        case 1:
          score_lanes<1>(lane);
          break;
        case 2:
          score_lanes<2>(lane);
          break;
        case 3:
          score_lanes<3>(lane);
          break;
        default:
          score_lanes<4>(lane);
          break;
      }
    }
  }

  template <int R>
  void score_lanes(int lane) {
    Bounds<kKeyVectors> unused;
    for (int v = 0; v < kKeyVectors; ++v) unused.high[v] = unused.low[v] = zero();
    dot_keys<kKeyVectors, R>(transposed_ + lane, kLine, d_qk_, query_, p_.scale, s_ + lane, unused);
  }

  // Rule 3 for one row but for the sums of values: scores become weights, m and l move on, a_[r] is
  // what the sums are scaled by. Returns the bits of the live keys.
  std::uint64_t weigh(float* s, int count, float* x, int r) {
    float m = x[0];
    std::uint64_t live = 0;
    for (int key = 0; key < count; ++key) {
      if (s[key] != -kInfinity) live |= std::uint64_t{1} << key;
      if (s[key] > m) m = s[key];
    }
    a_[r] = 1.0f;
    if (live == 0) return 0;
    if (m != x[0]) a_[r] = exp1(x[0] - m);
    for (int key = 0; key < count; key += kLanes) store(exp(load(s + key) - set(m)), s + key);
    float sum = 0;
    for (int key = 0; key < count; ++key) {
      if (live >> key & 1) sum += s[key];
    }
    x[0] = m;
    x[1] = fma1(x[1], a_[r], sum);
    return live;
  }

  // Columns [0, C * kLanes) of the sums of R rows.
  template <int R, int C>
  void add_columns_of(const float* v, std::int64_t v_stride, int count, const std::uint64_t* live,
                      float* x) {
    V sum[R][C];
    QKV_UNROLL for (int r = 0; r < R; ++r) {
      QKV_UNROLL for (int c = 0; c < C; ++c) sum[r][c] = zero();
    }
    for (int key = 0; key < count; ++key) {
      V value[C];
      QKV_UNROLL for (int c = 0; c < C; ++c) value[c] = load(v + key * v_stride + c * kLanes);
      QKV_UNROLL for (int r = 0; r < R; ++r) {
        if ((live[r] >> key & 1) == 0) continue;
        const V weight = set(s_[r * kLine + key]);
        QKV_UNROLL for (int c = 0; c < C; ++c) {
#if QKV_FAULT_CODE == QKV_FAULT_MUL_ADD
          sum[r][c] = value[c] * weight + sum[r][c];
#else
          sum[r][c] = fma(value[c], weight, sum[r][c]);
#endif
        }
      }
    }
    QKV_UNROLL for (int r = 0; r < R; ++r) {
      QKV_UNROLL for (int c = 0; c < C; ++c) {
        float* place = x + r * stride_ + c * kLanes;
        store(fma(load(place), set(a_[r]), sum[r][c]), place);
      }
    }
  }

  template <int R>
  void add_values(const FloatRows& v, int count, const std::uint64_t* live, float* x) {
    float* o = x + kStateValues;
    std::int64_t c = 0;
    for (; c + 4 * kLanes <= d_v_; c += 4 * kLanes) {
      add_columns_of<R, 4>(v.data + c, v.stride, count, live, o + c);
    }
    for (; c + kLanes <= d_v_; c += kLanes) {
      add_columns_of<R, 1>(v.data + c, v.stride, count, live, o + c);
    }
    if (c == d_v_) return;
    // The last columns, padded with zeros to a vector.
    for (int key = 0; key < count; ++key) {
      for (int n = 0; n < kLanes; ++n) {
        tail_[key * kLanes + n] = c + n < d_v_ ? v.row(key)[c + n] : 0.0f;
      }
    }
    add_columns_of<R, 1>(tail_, kLanes, count, live, o + c);
  }

  const Problem& p_;
  const RowTile& rows_;
  const Control& control_;
  RowPlaces places_;
  std::int64_t d_qk_, d_v_, stride_;
  Scratch scratch_;
  const float* query_[kFewRows];
  float a_[kFewRows];
  float* queries_;     // [kFewRows][d_qk] if queries can't be read in place
  float* s_;           // [kFewRows][kLine] scores, then weights
  float* transposed_;  // [d_qk][kLine] the block's keys
  float* key_rows_;    // [kBlock][d_qk] if keys can't be read in place
  float* value_rows_;  // [kBlock][d_v] likewise
  float* tail_;        // [kBlock][kLanes]
  float* stack_;       // states, [kFewRows][stride_] each
};

inline std::int64_t few_rows_scratch_floats(const Problem& p) {
  const std::int64_t states = TreeFold::states_at_most(p.keys() / kSpan + 2);
  return (in_place(p.query) ? 0 : kFewRows * p.d_qk()) + kFewRows * kLine + p.d_qk() * kLine +
         (in_place(p.key) ? 0 : kBlock * p.d_qk()) + (in_place(p.value) ? 0 : kBlock * p.d_v()) +
         kBlock * kLanes + states * kFewRows * state_stride(p.d_v()) + 10 * Scratch::kAlignFloats;
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_ATTENTION_FEW_ROWS_INL_H_
