// One tile of query rows on its way over the keys of a span. Lanes are query rows for the scores,
// the gradients of pairs and d_query, columns for d_key and d_value.
#ifndef QKV_KERNELS_GRADIENT_TILE_INL_H_
#define QKV_KERNELS_GRADIENT_TILE_INL_H_

#include <algorithm>
#include <cstdint>

#include "kernels/attention/dot-inl.h"
#include "kernels/attention/dropout-inl.h"
#include "kernels/attention/scores-inl.h"
#include "kernels/attention/scratch.h"
#include "kernels/gradient/products-inl.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

inline std::int64_t gradient_scratch_floats(const GradientProblem& g) {
  const Problem& p = g.forward;
  const std::int64_t of_rows =
      kGradientRows * (row_stride(p.d_qk()) + row_stride(p.d_v()) + p.d_qk() + 2 * p.d_v());
  const std::int64_t of_keys = kBlock * (p.d_qk() + p.d_v());
  return of_rows + of_keys + 5 * kBlock * kGradientRows + kGradientRows +
         13 * Scratch::kAlignFloats;
}

class GradientWork {
 public:
  GradientWork(const GradientProblem& g, const GradientTile& tile, KeyRange keys,
               const SpanSums& sums, std::byte* memory, const Control& control)
      : g_(g),
        p_(g.forward),
        tile_(tile),
        rows_(tile.rows),
        keys_(keys),
        sums_(sums),
        control_(control),
        places_(p_, rows_, keys),
        vectors_((rows_.rows + kLanes - 1) / kLanes),
        query_stride_(row_stride(p_.d_qk())),
        d_out_stride_(row_stride(p_.d_v())) {
    Scratch scratch(memory);
    queries_ = scratch.floats(kGradientRows * query_stride_);
    d_outs_ = scratch.floats(kGradientRows * d_out_stride_);
    query_lanes_ = scratch.floats(kGradientRows * p_.d_qk());
    d_out_lanes_ = scratch.floats(kGradientRows * p_.d_v());
    key_rows_ = scratch.floats(kBlock * p_.d_qk());
    value_rows_ = scratch.floats(kBlock * p_.d_v());
    s_ = scratch.floats(kBlock * kGradientRows);
    capped_ = scratch.floats(kBlock * kGradientRows);
    kept_ = scratch.floats(kBlock * kGradientRows);
    weights_ = scratch.floats(kBlock * kGradientRows);
    gradients_ = scratch.floats(kBlock * kGradientRows);
    d_lse_ = scratch.floats(kGradientRows);
  }

  void run() {
    if (sums_.d_query != nullptr) {
      std::fill(sums_.d_query, sums_.d_query + p_.d_qk() * kGradientRows, 0.0f);
    }
    if (sums_.gradients != nullptr) {
      std::fill(sums_.gradients, sums_.gradients + (keys_.end - keys_.begin) * kGradientRows, 0.0f);
    }
    if (places_.any.begin == places_.any.end) return;
    copy_rows(p_.query, queries_, query_stride_, query_lanes_);
    copy_rows(g_.d_out, d_outs_, d_out_stride_, d_out_lanes_);
    for (int r = 0; r < kGradientRows; ++r) {
      d_lse_[r] = r < rows_.rows ? load_float(g_.d_lse, offset_of(g_.d_lse, rows_.sequence.buffer,
                                                                  rows_.heads[r], query_row(r), 0))
                                 : 0.0f;
    }
    const KeyRange all = places_.any;
    for (std::int64_t block = all.begin / kBlock; block * kBlock < all.end; ++block) {
      if (control_.cancelled()) return;
      add_block({std::max(all.begin, block * kBlock), std::min(all.end, (block + 1) * kBlock)});
    }
  }

 private:
  std::int64_t query_row(int r) const { return rows_.sequence.query_begin + rows_.queries[r]; }

  // The tile's rows of `view` as floats, padded with zeros to whole vectors, and transposed.
  void copy_rows(const TensorView& view, float* rows, std::int64_t stride, float* lanes) const {
    const std::int64_t d = view.extents[3];
    for (int r = 0; r < rows_.rows; ++r) {
      widen(view, offset_of(view, rows_.sequence.buffer, rows_.heads[r], query_row(r), 0),
            view.strides[3], d, rows + r * stride);
      std::fill(rows + r * stride + d, rows + (r + 1) * stride, 0.0f);
    }
    transpose([&](int n) { return rows + std::min(n, rows_.rows - 1) * stride; }, vectors_ * kLanes,
              d, lanes, kGradientRows);
  }

  // result[key][lane] = factor * dot(lanes, row of the key). Is any of them -inf?
  bool dots(const float* lanes, std::int64_t d, const FloatRows& rows, int count, float factor,
            float* result) const {
    bool all_above = true;
    in_pieces<kLaneVectors>(vectors_, [&]<int QV>(int vector) {
      Bounds<QV> bounds;
      for (int v = 0; v < QV; ++v) bounds.high[v] = bounds.low[v] = zero();
      in_pieces<kTermsAtOnce>(count, [&]<int KB>(int key) {
        const float* row[KB];
        for (int n = 0; n < KB; ++n) row[n] = rows.row(key + n);
        dot_keys<QV, KB>(lanes + vector * kLanes, kGradientRows, d, row, factor,
                         result + key * kGradientRows + vector * kLanes, bounds);
      });
      for (int v = 0; v < QV; ++v)
        all_above = all_above && all(less(set(-kInfinity), bounds.low[v]));
    });
    return !all_above;
  }

  void add_block(KeyRange keys) {
    std::uint64_t words[kMaxTileRows];
    const Live live = live_words(p_, rows_, places_, keys, control_, words);
    if (live == Live::kNone) return;
    const int count = static_cast<int>(keys.end - keys.begin);
    const std::int64_t first = rows_.sequence.key_row(keys.begin);
    const FloatRows k = float_rows(p_.key, rows_.sequence.buffer, rows_.key_head, first, count,
                                   key_rows_),
                    v = float_rows(p_.value, rows_.sequence.buffer, rows_.key_head, first, count,
                                   value_rows_);
    const bool hides = dots(query_lanes_, p_.d_qk(), k, count, p_.scale, s_);
    dots(d_out_lanes_, p_.d_v(), v, count, 1.0f, gradients_);
    const bool may_hide = hides || live != Live::kAll || has_modifiers(p_);
    if (p_.has_dropout()) drop_d_weights(keys);
    modify(keys, live, words);
    if (may_hide) {
      pair_gradients<true>(count);
    } else {
      pair_gradients<false>(count);
    }
    const std::int64_t at = keys.begin - keys_.begin;
    if (sums_.gradients != nullptr) {
      std::copy(gradients_, gradients_ + count * kGradientRows,
                sums_.gradients + at * kGradientRows);
    } else if (g_.d_bias.defined() && bias_is_full(g_)) {
      write_d_bias(keys);
    }
    through_mods(keys, may_hide);
    float* d_key = sums_.d_key == nullptr ? nullptr : sums_.d_key + at * query_stride_;
    float* d_value = sums_.d_value == nullptr ? nullptr : sums_.d_value + at * d_out_stride_;
    if (p_.has_dropout()) {
      for (int n = 0; n < count * kGradientRows; ++n) {
        if (kept_[n] == 0.0f) weights_[n] = 0.0f;
      }
    }
    // 0 * Inf is NaN, so masked and dropped pairs must then be left out one by one.
    if ((may_hide || p_.has_dropout()) && !(all_finite(k, count, p_.d_qk()) && rows_are_finite())) {
      add_selecting(count, k, d_key, d_value);
      return;
    }
    if (sums_.d_query != nullptr) {
      add_d_query(gradients_, count, k.data, k.stride, p_.d_qk(), vectors_, sums_.d_query);
    }
    if (d_key != nullptr) {
      add_d_keys(gradients_, count, rows_.rows, queries_, query_stride_, d_key);
    }
    if (d_value != nullptr) {
      add_d_keys(weights_, count, rows_.rows, d_outs_, d_out_stride_, d_value);
    }
  }

  // The gradient of a kept weight is multiplied by dropout's factor, that of a dropped one is +0.
  void drop_d_weights(KeyRange keys) {
    const V factor = set(p_.dropout_factor);
    for_kept(p_, rows_, places_, keys, vectors_, [&](int key, int v, M kept) {
      const std::int64_t place = key * kGradientRows + v * kLanes;
      store(select(kept, load(gradients_ + place) * factor, zero()), gradients_ + place);
      store(select(kept, set(1.0f), zero()), kept_ + place);
    });
  }

  ScoreBlock score_block(KeyRange keys) const {
    return {s_, 1, kGradientRows, rows_.rows, vectors_ * kLanes, keys};
  }

  // Scaled dot products become final scores; capped_ keeps what score_mod and softcap's derivative
  // need.
  void modify(KeyRange keys, Live live, const std::uint64_t* words) {
    const AttentionOptions& o = p_.options;
    const ScoreBlock block = score_block(keys);
    if (o.softcap) apply_softcap(block, *o.softcap);
    if (o.softcap || o.score_mod) {
      std::copy(s_, s_ + block.key_count() * kGradientRows, capped_);
    }
    if (o.score_mod) apply_score_mod(p_, rows_, places_, block);
    if (!o.alibi_slopes.empty()) apply_alibi(p_, rows_, places_, block);
    if (p_.bias.defined()) apply_bias(p_, rows_, block);
    if (live != Live::kAll) hide_masked(block, words);
  }

  // weights_ = exp(s - m) / l and gradients_ = weight * ((dp - D) + dLSE), dp being there already.
  // Masked pairs get 0 in both.
  template <bool kMayHide>
  void pair_gradients(int count) {
    for (int n = 0; n < vectors_; ++n) {
      float lanes[4][kLanes];
      for (int i = 0; i < kLanes; ++i) {
        const int row = std::min(n * kLanes + i, rows_.rows - 1);
        lanes[0][i] = tile_.m[row];
        lanes[1][i] = tile_.l[row];
        lanes[2][i] = tile_.d[row];
        lanes[3][i] = d_lse_[row];
      }
      const V m = load(lanes[0]), l = load(lanes[1]), d = load(lanes[2]), d_lse = load(lanes[3]);
      for (int key = 0; key < count; ++key) {
        const std::int64_t place = key * kGradientRows + n * kLanes;
        const V s = load(s_ + place);
        V weight = exp(s - m) / l;
        V gradient = weight * ((load(gradients_ + place) - d) + d_lse);
        if constexpr (kMayHide) {
          const M masked = equal(s, set(-kInfinity));
          weight = zero_where(masked, weight);
          gradient = zero_where(masked, gradient);
        }
        store(weight, weights_ + place);
        store(gradient, gradients_ + place);
      }
    }
  }

  void write_d_bias(KeyRange keys) const {
    const std::int64_t column = rows_.sequence.key_row(keys.begin), step = g_.d_bias.strides[3];
    for (int r = 0; r < rows_.rows; ++r) {
      const std::int64_t offset =
          offset_of(g_.d_bias, rows_.sequence.buffer, rows_.heads[r], query_row(r), column);
      for (std::int64_t key = 0; key < keys.end - keys.begin; ++key) {
        store_result(g_.d_bias, offset + key * step, gradients_[key * kGradientRows + r]);
      }
    }
  }

  // Back through score_mod and softcap.
  void through_mods(KeyRange keys, bool may_hide) {
    const AttentionOptions& o = p_.options;
    const int count = static_cast<int>(keys.end - keys.begin);
    if (o.score_mod_gradient) {
      ScoreGradientTile view;
      view.batch = rows_.sequence.index;
      view.rows = rows_.rows;
      view.heads = rows_.heads;
      view.positions = places_.positions;
      view.first_key = keys.begin;
      view.keys = count;
      view.scores = capped_;
      view.gradients = gradients_;
      view.row_stride = 1;
      view.key_stride = kGradientRows;
      o.score_mod_gradient(view);
    }
    if (!o.softcap && !o.score_mod_gradient) return;
    const V cap = set(o.softcap.value_or(1.0f));
    for (int key = 0; key < count; ++key) {
      for (int n = 0; n < vectors_; ++n) {
        float* place = gradients_ + key * kGradientRows + n * kLanes;
        V gradient = load(place);
        if (o.softcap) {
          const V t = load(capped_ + key * kGradientRows + n * kLanes) / cap;
          const V square = t * t;
          gradient = gradient * (set(1.0f) - square);
        }
        // The derivative at a masked pair may be anything.
        if (may_hide) {
          const V s = load(s_ + key * kGradientRows + n * kLanes);
          gradient = zero_where(equal(s, set(-kInfinity)), gradient);
        }
        store(gradient, place);
      }
    }
  }

  bool rows_are_finite() {
    if (!rows_checked_) {
      rows_checked_ = true;
      rows_finite_ = all_finite({queries_, query_stride_}, rows_.rows, p_.d_qk()) &&
                     all_finite({d_outs_, d_out_stride_}, rows_.rows, p_.d_v());
    }
    return rows_finite_;
  }

  bool is_live(int key, int r) const { return s_[key * kGradientRows + r] != -kInfinity; }

  // All three sums one element at a time, without masked pairs.
  void add_selecting(int count, const FloatRows& k, float* d_key, float* d_value) {
    if (sums_.d_query != nullptr) {
      for (int r = 0; r < rows_.rows; ++r) {
        for (std::int64_t c = 0; c < p_.d_qk(); ++c) {
          float b = 0.0f;
          for (int key = 0; key < count; ++key) {
            if (is_live(key, r)) b = fma1(gradients_[key * kGradientRows + r], k.row(key)[c], b);
          }
          float& sum = sums_.d_query[c * kGradientRows + r];
          sum = sum + b;
        }
      }
    }
    add_rows_selecting(count, gradients_, queries_, query_stride_, p_.d_qk(), false, d_key);
    add_rows_selecting(count, weights_, d_outs_, d_out_stride_, p_.d_v(), p_.has_dropout(),
                       d_value);
  }

  void add_rows_selecting(int count, const float* x, const float* rows, std::int64_t stride,
                          std::int64_t d, bool dropping, float* sums) const {
    for (int key = 0; sums != nullptr && key < count; ++key) {
      for (int block = 0; block < rows_.rows; block += kBlock) {
        const int end = std::min(block + static_cast<int>(kBlock), rows_.rows);
        for (std::int64_t c = 0; c < d; ++c) {
          float b = 0.0f;
          for (int r = block; r < end; ++r) {
            if (!is_live(key, r) || (dropping && kept_[key * kGradientRows + r] == 0.0f)) continue;
            b = fma1(x[key * kGradientRows + r], rows[r * stride + c], b);
          }
          float& sum = sums[key * stride + c];
          sum = sum + b;
        }
      }
    }
  }

  const GradientProblem& g_;
  const Problem& p_;
  const GradientTile& tile_;
  const RowTile& rows_;
  KeyRange keys_;
  SpanSums sums_;
  const Control& control_;
  RowPlaces places_;
  int vectors_;  // of lanes in use
  std::int64_t query_stride_, d_out_stride_;
  float *queries_, *d_outs_;                    // [rows][stride]
  float *query_lanes_, *d_out_lanes_;           // [d][kGradientRows]
  float *key_rows_, *value_rows_;               // [kBlock][d], if they can't be read in place
  float *s_, *capped_, *weights_, *gradients_;  // [kBlock][kGradientRows]
  float* kept_;                                 // the same: 1, or 0 if dropped
  float* d_lse_;                                // [kGradientRows]
  bool rows_checked_ = false, rows_finite_ = false;
};

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_GRADIENT_TILE_INL_H_
