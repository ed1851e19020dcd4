// One tile of query rows on its way over the keys of a span. Lanes are query rows for the scores,
// the gradients of pairs and d_query, columns for d_key and d_value.
#ifndef QKV_KERNELS_GRADIENT_TILE_INL_H_
#define QKV_KERNELS_GRADIENT_TILE_INL_H_

#include <algorithm>
#include <cstdint>

#include "kernels/attention/dropout-inl.h"
#include "kernels/attention/scratch.h"
#include "kernels/gradient/operands-inl.h"

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
    copy_rows(rows_, p_.query, vectors_, queries_, query_stride_, query_lanes_);
    copy_rows(rows_, g_.d_out, vectors_, d_outs_, d_out_stride_, d_out_lanes_);
    for (int r = 0; r < kGradientRows; ++r) {
      d_lse_[r] = r < rows_.rows
                      ? load_float(g_.d_lse, offset_of(g_.d_lse, rows_.sequence.buffer,
                                                       rows_.heads[r], query_row(rows_, r), 0))
                      : 0.0f;
    }
    const KeyRange all = places_.any;
    for (std::int64_t block = all.begin / kBlock; block * kBlock < all.end; ++block) {
      if (control_.cancelled()) return;
      add_block({std::max(all.begin, block * kBlock), std::min(all.end, (block + 1) * kBlock)});
    }
  }

 private:
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
    const bool hides = dots(query_lanes_, p_.d_qk(), k, count, vectors_, p_.scale, s_);
    dots(d_out_lanes_, p_.d_v(), v, count, vectors_, 1.0f, gradients_);
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
      write_pairs(g_.d_bias, rows_, keys, gradients_);
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
    if (p_.bias.defined()) apply_bias(p_.bias, rows_, block);
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

  // Back through score_mod and softcap.
  void through_mods(KeyRange keys, bool may_hide) {
    const AttentionOptions& o = p_.options;
    const int count = static_cast<int>(keys.end - keys.begin);
    if (o.score_mod_gradient) {
      apply_score_mod_gradient(p_, rows_, places_, keys, capped_, gradients_);
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
    const auto live = [&](int key, int r) { return is_live(key, r); };
    const auto live_and_kept = [&](int key, int r) {
      return is_live(key, r) && !(p_.has_dropout() && kept_[key * kGradientRows + r] == 0.0f);
    };
    if (sums_.d_query != nullptr) {
      add_d_query_selecting(live, gradients_, count, k, p_.d_qk(), rows_.rows, sums_.d_query);
    }
    if (d_key != nullptr) {
      add_d_keys_selecting(live, gradients_, count, rows_.rows, queries_, query_stride_, p_.d_qk(),
                           d_key);
    }
    if (d_value != nullptr) {
      add_d_keys_selecting(live_and_kept, weights_, count, rows_.rows, d_outs_, d_out_stride_,
                           p_.d_v(), d_value);
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
