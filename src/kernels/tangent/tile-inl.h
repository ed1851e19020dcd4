// One tile of query rows on its way over the keys of a span, with its tangents. Lanes are query
// rows for scores and what comes of pairs, and for sums over keys; columns for sums over rows.
#ifndef QKV_KERNELS_TANGENT_TILE_INL_H_
#define QKV_KERNELS_TANGENT_TILE_INL_H_

#include <algorithm>
#include <cstdint>

#include "kernels/attention/dropout-inl.h"
#include "kernels/attention/scratch.h"
#include "kernels/gradient/operands-inl.h"
#include "kernels/tangent/kernel.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

inline constexpr std::int64_t kPairs = kBlock * kGradientRows;
inline constexpr int kPairArrays = 10;

inline std::int64_t tangent_scratch_floats(const TangentProblem& t) {
  const Problem& p = t.gradient.forward;
  const std::int64_t numbers = p.d_qk() + p.d_v();
  const std::int64_t padded = row_stride(p.d_qk()) + row_stride(p.d_v());
  const std::int64_t rows_and_lanes =
      kGradientRows * std::max(2 * (padded + numbers), 3 * (row_stride(p.d_v()) + p.d_v()));
  return rows_and_lanes + 2 * kBlock * numbers + kPairArrays * kPairs + 6 * kGradientRows +
         40 * Scratch::kAlignFloats;
}

// A tile's rows of a tensor: as they are and transposed. Null if the tensor is absent.
struct TileRows {
  float* rows = nullptr;   // [rows][stride]
  float* lanes = nullptr;  // [d][kGradientRows]
  std::int64_t stride = 0, d = 0;

  static TileRows copied(const TensorView& view, const RowTile& tile, int vectors,
                         Scratch& scratch) {
    TileRows result;
    if (!view.defined()) return result;
    result.d = view.extents[3];
    result.stride = row_stride(result.d);
    result.rows = scratch.floats(kGradientRows * result.stride);
    result.lanes = scratch.floats(kGradientRows * result.d);
    copy_rows(tile, view, vectors, result.rows, result.stride, result.lanes);
    return result;
  }
  bool finite(int count) const { return rows == nullptr || all_finite({rows, stride}, count, d); }
};

class TangentWork {
 public:
  // Without `row`, that of the forward pass.
  TangentWork(const TangentProblem& t, const GradientTile& tile, const TangentTile* row,
              KeyRange keys, std::byte* memory, const Control& control)
      : t_(t),
        g_(t.gradient),
        p_(t.gradient.forward),
        rows_(tile.rows),
        keys_(keys),
        control_(control),
        places_(p_, rows_, keys),
        vectors_((rows_.rows + kLanes - 1) / kLanes) {
    Scratch scratch(memory);
    query_ = TileRows::copied(p_.query, rows_, vectors_, scratch);
    query_moves_ = TileRows::copied(t_.query, rows_, vectors_, scratch);
    if (row != nullptr) {
      d_out_ = TileRows::copied(g_.d_out, rows_, vectors_, scratch);
      d_out_moves_ = TileRows::copied(t_.d_out, rows_, vectors_, scratch);
    }
    for (float*& memory_of_keys : key_memory_) memory_of_keys = scratch.floats(kBlock * p_.d_qk());
    for (float*& memory_of_keys : value_memory_) {
      memory_of_keys = scratch.floats(kBlock * p_.d_v());
    }
    for (float** pairs : {&s_, &capped_, &kept_, &weights_, &moves_, &scaled_, &products_,
                          &gradients_, &gradient_moves_, &second_}) {
      *pairs = scratch.floats(kPairs);
    }
    const auto load_row = [&](const float* numbers, float* lanes) {
      for (int r = 0; r < kGradientRows; ++r) {
        lanes[r] = numbers == nullptr ? 0.0f : numbers[std::min(r, rows_.rows - 1)];
      }
    };
    const auto load_view = [&](const TensorView& view, float* lanes) {
      for (int r = 0; r < kGradientRows; ++r) {
        const int row_of_lane = std::min(r, rows_.rows - 1);
        lanes[r] =
            !view.defined()
                ? 0.0f
                : load_float(view, offset_of(view, rows_.sequence.buffer, rows_.heads[row_of_lane],
                                             query_row(rows_, row_of_lane), 0));
      }
    };
    load_row(tile.m, m_);
    load_row(tile.l, l_);
    if (row == nullptr) return;
    load_row(row->lse, lse_);
    load_row(tile.d, d_);
    load_row(row->d_tangent, d_moves_);
    load_view(g_.d_lse, d_lse_);
    load_view(t_.d_lse, d_lse_moves_);
  }

  void forward(const ForwardSums& sums) {
    std::fill(sums.out, sums.out + p_.d_v() * kGradientRows, 0.0f);
    std::fill(sums.lse, sums.lse + kGradientRows, 0.0f);
    for_blocks([&](KeyRange keys, bool may_hide) { add_forward(keys, may_hide, sums); }, false);
  }

  void backward(const SpanSums& sums) {
    if (sums.d_query != nullptr) {
      std::fill(sums.d_query, sums.d_query + p_.d_qk() * kGradientRows, 0.0f);
    }
    if (sums.gradients != nullptr) {
      std::fill(sums.gradients, sums.gradients + (keys_.end - keys_.begin) * kGradientRows, 0.0f);
    }
    for_blocks([&](KeyRange keys, bool may_hide) { add_backward(keys, may_hide, sums); }, true);
  }

 private:
  int count_of(KeyRange keys) const { return static_cast<int>(keys.end - keys.begin); }

  // Calls f(keys, whether some pairs may be masked) for each block that has pairs, with the scores
  // in s_, their tangents in moves_, and key and value rows in k_, v_.
  template <class F>
  void for_blocks(F f, bool keep_scaled) {
    const KeyRange all = places_.any;
    if (all.begin == all.end) return;
    for (std::int64_t block = all.begin / kBlock; block * kBlock < all.end; ++block) {
      if (control_.cancelled()) return;
      const KeyRange keys{std::max(all.begin, block * kBlock),
                          std::min(all.end, (block + 1) * kBlock)};
      std::uint64_t words[kMaxTileRows];
      const Live live = live_words(p_, rows_, places_, keys, control_, words);
      if (live == Live::kNone) continue;
      load_keys(keys);
      const int count = count_of(keys);
      const bool hides = dots(query_.lanes, p_.d_qk(), k_.rows, count, vectors_, p_.scale, s_);
      moving_dots(query_moves_, k_, query_, k_moves_, p_.scale, count, moves_);
      modify(keys, live, words, keep_scaled);
      f(keys, hides || live != Live::kAll || has_modifiers(p_));
    }
  }

  // Key or value rows of a block.
  struct BlockRows {
    FloatRows rows{nullptr, 0};
    bool there = false;
  };
  BlockRows block_rows(const TensorView& view, KeyRange keys, float* memory) const {
    if (!view.defined()) return {};
    return {float_rows(view, rows_.sequence.buffer, rows_.key_head,
                       rows_.sequence.key_row(keys.begin), keys.end - keys.begin, memory),
            true};
  }
  void load_keys(KeyRange keys) {
    k_ = block_rows(p_.key, keys, key_memory_[0]);
    k_moves_ = block_rows(t_.key, keys, key_memory_[1]);
    v_ = block_rows(p_.value, keys, value_memory_[0]);
    v_moves_ = block_rows(t_.value, keys, value_memory_[1]);
  }
  bool finite(const BlockRows& rows, int count, std::int64_t d) const {
    return !rows.there || all_finite(rows.rows, count, d);
  }

  // result = factor * (dot(a., b) + dot(a, b.)), a of the queries, b of the keys.
  void moving_dots(const TileRows& a_moves, const BlockRows& b, const TileRows& a,
                   const BlockRows& b_moves, float factor, int count, float* result) {
    const bool left = a_moves.lanes != nullptr, right = b_moves.there;
    if (!left && !right) {
      std::fill(result, result + count * kGradientRows, 0.0f * factor);
      return;
    }
    const float once = left && right ? 1.0f : factor;
    if (left) dots(a_moves.lanes, a.d, b.rows, count, vectors_, once, result);
    if (right) dots(a.lanes, a.d, b_moves.rows, count, vectors_, once, left ? second_ : result);
    if (!(left && right)) return;
    for_pairs(count, [&](std::int64_t place, int) {
      store((load(result + place) + load(second_ + place)) * set(factor), result + place);
    });
  }

  // f(place of a vector of pairs, number of the vector).
  template <class F>
  QKV_INLINE void for_pairs(int count, F f) const {
    for (int key = 0; key < count; ++key) {
      for (int n = 0; n < vectors_; ++n) f(key * kGradientRows + n * kLanes, n);
    }
  }

  ScoreBlock score_block(float* s, KeyRange keys) const {
    return {s, 1, kGradientRows, rows_.rows, vectors_ * kLanes, keys};
  }

  // Scaled dot products become final scores, and so do their tangents. scaled_ keeps what softcap's
  // second derivative needs.
  void modify(KeyRange keys, Live live, const std::uint64_t* words, bool keep_scaled) {
    const AttentionOptions& o = p_.options;
    const ScoreBlock block = score_block(s_, keys);
    const int count = count_of(keys);
    if (o.softcap) apply_softcap(block, *o.softcap);
    if (o.softcap || o.score_mod) std::copy(s_, s_ + count * kGradientRows, capped_);
    if (o.score_mod) apply_score_mod(p_, rows_, places_, block);
    if (!o.alibi_slopes.empty()) apply_alibi(p_, rows_, places_, block);
    if (p_.bias.defined()) apply_bias(p_.bias, rows_, block);
    if (live != Live::kAll) hide_masked(block, words);
    if (o.softcap) {
      if (keep_scaled) std::copy(moves_, moves_ + count * kGradientRows, scaled_);
      for_pairs(count, [&](std::int64_t place, int) {
        store(load(moves_ + place) * cap_derivative(cap_tanh(place)), moves_ + place);
      });
    }
    if (o.score_mod) apply_score_mod_gradient(p_, rows_, places_, keys, capped_, moves_);
    if (t_.bias.defined()) apply_bias(t_.bias, rows_, score_block(moves_, keys));
  }
  QKV_INLINE V cap_tanh(std::int64_t place) const {
    return load(capped_ + place) / set(*p_.options.softcap);
  }
  QKV_INLINE static V cap_derivative(V u) {
    const V square = u * u;
    return set(1.0f) - square;
  }

  bool is_live(int key, int r) const { return s_[key * kGradientRows + r] != -kInfinity; }
  bool is_kept(int key, int r) const {
    return !p_.has_dropout() || kept_[key * kGradientRows + r] != 0.0f;
  }

  // f(place, kept) for all pairs, and kept_.
  template <class F>
  void drop(KeyRange keys, F f) {
    for_kept(p_, rows_, places_, keys, vectors_, [&](int key, int v, M kept) {
      const std::int64_t place = key * kGradientRows + v * kLanes;
      store(select(kept, set(1.0f), zero()), kept_ + place);
      f(place, kept);
    });
  }
  static void keep(M kept, float* place) { store(select(kept, load(place), zero()), place); }

  // ---- Forward ----

  void add_forward(KeyRange keys, bool may_hide, const ForwardSums& sums) {
    const int count = count_of(keys);
    float lse[kGradientRows] = {};
    for_pairs(count, [&](std::int64_t place, int n) {
      const V s = load(s_ + place);
      V weight = exp(s - load(m_ + n * kLanes)) / load(l_ + n * kLanes);
      V move = load(moves_ + place);
      if (may_hide) {
        const M masked = equal(s, set(-kInfinity));
        weight = zero_where(masked, weight);
        move = zero_where(masked, move);
      }
      store(weight, weights_ + place);
      store(weight * move, products_ + place);
      store(fma(weight, move, load(lse + n * kLanes)), lse + n * kLanes);
    });
    for (int n = 0; n < vectors_; ++n) {
      float* sum = sums.lse + n * kLanes;
      store(load(sum) + load(lse + n * kLanes), sum);
    }
    if (p_.has_dropout()) {
      drop(keys, [&](std::int64_t place, M kept) {
        keep(kept, weights_ + place);
        keep(kept, products_ + place);
      });
    }
    const bool select_pairs = (may_hide || p_.has_dropout()) &&
                              !(finite(v_, count, p_.d_v()) && finite(v_moves_, count, p_.d_v()));
    over_keys(products_, v_, count, p_.d_v(), select_pairs, p_.has_dropout(), sums.out);
    over_keys(weights_, v_moves_, count, p_.d_v(), select_pairs, p_.has_dropout(), sums.out);
  }

  // ---- Backward ----

  void add_backward(KeyRange keys, bool may_hide, const SpanSums& sums) {
    const int count = count_of(keys);
    dots(d_out_.lanes, p_.d_v(), v_.rows, count, vectors_, 1.0f, gradients_);
    moving_dots(d_out_moves_, v_, d_out_, v_moves_, 1.0f, count, gradient_moves_);
    if (p_.has_dropout()) {
      const V factor = set(p_.dropout_factor);
      drop(keys, [&](std::int64_t place, M kept) {
        for (float* numbers : {gradients_ + place, gradient_moves_ + place}) {
          store(select(kept, load(numbers) * factor, zero()), numbers);
        }
      });
    }
    if (may_hide) {
      pair_gradients<true>(count);
    } else {
      pair_gradients<false>(count);
    }
    const std::int64_t at = keys.begin - keys_.begin;
    if (sums.gradients != nullptr) {
      std::copy(gradient_moves_, gradient_moves_ + count * kGradientRows,
                sums.gradients + at * kGradientRows);
      return;
    }
    if (g_.d_bias.defined() && bias_is_full(g_)) {
      write_pairs(g_.d_bias, rows_, keys, gradient_moves_);
    }
    if (p_.options.softcap) through_softcap(count, may_hide);
    add_sums(at, count, may_hide, sums);
  }

  // weights_ = w, products_ = w., gradients_ = g, gradient_moves_ = g. of the final scores; those
  // of the weights are there already. Masked pairs get 0 in all.
  template <bool kMayHide>
  void pair_gradients(int count) {
    for (int n = 0; n < vectors_; ++n) {
      const auto lane = [&](const float* numbers) { return load(numbers + n * kLanes); };
      const V m = lane(m_), l = lane(l_), lse = lane(lse_), d = lane(d_), d_moves = lane(d_moves_),
              d_lse = lane(d_lse_), d_lse_moves = lane(d_lse_moves_);
      for (int key = 0; key < count; ++key) {
        const std::int64_t place = key * kGradientRows + n * kLanes;
        const V s = load(s_ + place);
        V weight = exp(s - m) / l;
        V weight_moves = weight * (load(moves_ + place) - lse);
        const V e = (load(gradients_ + place) - d) + d_lse;
        const V e_moves = (load(gradient_moves_ + place) - d_moves) + d_lse_moves;
        V gradient = weight * e;
        V gradient_moves = fma(weight_moves, e, weight * e_moves);
        if constexpr (kMayHide) {
          const M masked = equal(s, set(-kInfinity));
          weight = zero_where(masked, weight);
          weight_moves = zero_where(masked, weight_moves);
          gradient = zero_where(masked, gradient);
          gradient_moves = zero_where(masked, gradient_moves);
        }
        store(weight, weights_ + place);
        store(weight_moves, products_ + place);
        store(gradient, gradients_ + place);
        store(gradient_moves, gradient_moves_ + place);
      }
    }
  }

  void through_softcap(int count, bool may_hide) {
    const V cap = set(*p_.options.softcap);
    for_pairs(count, [&](std::int64_t place, int) {
      const V u = cap_tanh(place), derivative = cap_derivative(u);
      const V bend = (u + u) * (load(scaled_ + place) / cap);
      const V bent = load(gradients_ + place) * bend;
      V moves = (load(gradient_moves_ + place) - bent) * derivative;
      V gradient = load(gradients_ + place) * derivative;
      // The derivatives at a masked pair may be anything.
      if (may_hide) {
        const M masked = equal(load(s_ + place), set(-kInfinity));
        moves = zero_where(masked, moves);
        gradient = zero_where(masked, gradient);
      }
      store(moves, gradient_moves_ + place);
      store(gradient, gradients_ + place);
    });
  }

  void add_sums(std::int64_t at, int count, bool may_hide, const SpanSums& sums) {
    // 0 * Inf is NaN, so masked and dropped pairs must then be left out one by one.
    const bool drops = p_.has_dropout();
    const bool select_pairs =
        (may_hide || drops) &&
        !(finite(k_, count, p_.d_qk()) && finite(k_moves_, count, p_.d_qk()) && rows_are_finite());
    if (sums.d_query != nullptr) {
      over_keys(gradient_moves_, k_, count, p_.d_qk(), select_pairs, false, sums.d_query);
      over_keys(gradients_, k_moves_, count, p_.d_qk(), select_pairs, false, sums.d_query);
    }
    if (sums.d_key != nullptr) {
      float* d_key = sums.d_key + at * query_.stride;
      for (int block = 0; block < rows_.rows; block += kBlock) {
        over_rows(gradient_moves_, query_, block, count, select_pairs, false, d_key);
        over_rows(gradients_, query_moves_, block, count, select_pairs, false, d_key);
      }
    }
    if (sums.d_value != nullptr) {
      if (drops) {
        for_pairs(count, [&](std::int64_t place, int) {
          const M dropped = equal(load(kept_ + place), zero());
          store(zero_where(dropped, load(weights_ + place)), weights_ + place);
          store(zero_where(dropped, load(products_ + place)), products_ + place);
        });
      }
      float* d_value = sums.d_value + at * d_out_.stride;
      for (int block = 0; block < rows_.rows; block += kBlock) {
        over_rows(products_, d_out_, block, count, select_pairs, drops, d_value);
        over_rows(weights_, d_out_moves_, block, count, select_pairs, drops, d_value);
      }
    }
  }

  // ---- Sums ----

  bool rows_are_finite() {
    if (!rows_checked_) {
      rows_checked_ = true;
      rows_finite_ = query_.finite(rows_.rows) && query_moves_.finite(rows_.rows) &&
                     d_out_.finite(rows_.rows) && d_out_moves_.finite(rows_.rows);
    }
    return rows_finite_;
  }

  // sums [d][kGradientRows] += x times the rows of the keys; absent rows give nothing.
  void over_keys(const float* x, const BlockRows& rows, int count, std::int64_t d,
                 bool select_pairs, bool dropping, float* sums) const {
    if (!rows.there) return;
    if (!select_pairs) {
      add_d_query(x, count, rows.rows.data, rows.rows.stride, d, vectors_, sums);
      return;
    }
    const auto takes_part = [&](int key, int r) {
      return is_live(key, r) && (!dropping || is_kept(key, r));
    };
    add_d_query_selecting(takes_part, x, count, rows.rows, d, rows_.rows, sums);
  }

  // sums [keys][stride] += x times the tile's rows, those of one block from row `first` on.
  void over_rows(const float* x, const TileRows& rows, int first, int count, bool select_pairs,
                 bool dropping, float* sums) const {
    if (rows.rows == nullptr) return;
    const int block = std::min(static_cast<int>(kBlock), rows_.rows - first);
    const float* const of_block = rows.rows + first * rows.stride;
    if (!select_pairs) {
      add_d_keys(x + first, count, block, of_block, rows.stride, sums);
      return;
    }
    const auto takes_part = [&](int key, int r) {
      return is_live(key, first + r) && (!dropping || is_kept(key, first + r));
    };
    add_d_keys_selecting(takes_part, x + first, count, block, of_block, rows.stride, rows.d, sums);
  }

  const TangentProblem& t_;
  const GradientProblem& g_;
  const Problem& p_;
  const RowTile& rows_;
  KeyRange keys_;
  const Control& control_;
  RowPlaces places_;
  int vectors_;  // of lanes in use
  TileRows query_, query_moves_, d_out_, d_out_moves_;
  BlockRows k_, k_moves_, v_, v_moves_;
  float *key_memory_[2], *value_memory_[2];  // [kBlock][d], if they can't be read in place
  // [kBlock][kGradientRows]; kept_: 1, or 0 if dropped.
  float *s_, *capped_, *kept_, *weights_, *moves_, *scaled_, *products_, *gradients_,
      *gradient_moves_, *second_;
  float m_[kGradientRows], l_[kGradientRows], lse_[kGradientRows], d_[kGradientRows],
      d_moves_[kGradientRows], d_lse_[kGradientRows], d_lse_moves_[kGradientRows];
  bool rows_checked_ = false, rows_finite_ = false;
};

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_TANGENT_TILE_INL_H_
