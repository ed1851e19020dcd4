#include "kernels/exact/gradient.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/exact/exact.h"
#include "kernels/exact/functions.h"
#include "kernels/exact/pair.h"
#include "kernels/exact/tree_sum.h"
#include "tensor/element.h"

namespace qkv::exact {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// What every pair of a row needs: m, l and D of the forward pass, and dLSE.
struct RowNumbers {
  float m, l, d, d_lse;
};

// The gradients of one pair. `live` is false for a masked pair, which takes part in nothing.
struct PairGradient {
  bool live = false;
  bool kept;      // by dropout
  float weight;   // p
  float d_final;  // g: of the final score, and so of the bias
  float d_score;  // ds: of the scaled dot product
};

class Gradients {
 public:
  explicit Gradients(const GradientProblem& g) : g_(g), p_(g.forward) {}

  void sequence(const Sequence& s) {
    const std::int64_t rows = s.queries;
    numbers_.clear();
    for (std::int64_t head = 0; head < p_.query_heads(); ++head) {
      for (std::int64_t i = 0; i < rows; ++i) numbers_.push_back(row_numbers(s, head, i));
    }
    for (std::int64_t head = 0; head < p_.query_heads(); ++head) {
      for (std::int64_t i = 0; g_.d_query.defined() && i < rows; ++i) d_query_row(s, head, i);
      add_to_bias(s, head);
    }
    for (std::int64_t kv = 0; kv < p_.key_heads(); ++kv) {
      for (std::int64_t j = s.first_key; j < s.end_key; ++j) {
        d_key_row(s, kv, j, g_.d_key, p_.query, p_.scale, true);
        d_key_row(s, kv, j, g_.d_value, g_.d_out, p_.dropout_factor, false);
      }
    }
    if (g_.d_sinks.defined()) add_to_sinks(s);
  }

 private:
  const RowNumbers& numbers(const Sequence& s, std::int64_t head, std::int64_t i) const {
    return numbers_[static_cast<std::size_t>(head * s.queries + i)];
  }

  RowNumbers row_numbers(const Sequence& s, std::int64_t head, std::int64_t i) const {
    const std::int64_t row = s.query_begin + i;
    const auto place = [&](const TensorView& view) {
      return offset_of(view, s.buffer, head, row, 0);
    };
    const ForwardRow forward = forward_row(g_, s, head, i);
    const TensorView out(forward.out.data(), {1, 1, 1, p_.d_v()});
    return {forward.m, forward.l,
            dot(g_.d_out, place(g_.d_out), g_.d_out.strides[3], out, 0, 1, p_.d_v()),
            load_float(g_.d_lse, place(g_.d_lse))};
  }

  PairGradient pair(const Sequence& s, std::int64_t head, std::int64_t i, std::int64_t j) const {
    PairGradient result;
    const Pair at{p_, s, head, i, s.position(i), j};
    const KeyRange visible = p_.visible_keys(s, at.position);
    if (j < visible.begin || j >= visible.end || masked(at)) return result;
    const float t = query_times_key(at), final_score = score(at, t);
    if (final_score == -kInfinity) return result;
    result.live = true;
    const RowNumbers& row = numbers(s, head, i);
    result.kept = kept(p_, s, head, at.position, j);
    const float d_kept =
        dot(g_.d_out, offset_of(g_.d_out, s.buffer, head, at.query_row(), 0), g_.d_out.strides[3],
            p_.value, offset_of(p_.value, s.buffer, p_.key_head(head), at.key_row(), 0),
            p_.value.strides[3], p_.d_v());
    const float d_weight = result.kept ? d_kept * p_.dropout_factor : 0.0f;
    result.weight = exp(final_score - row.m) / row.l;
    result.d_final = result.weight * ((d_weight - row.d) + row.d_lse);
    result.d_score = through_mods(at, capped(at, t), result.d_final);
    return result;
  }

  // Back through score_mod and softcap.
  float through_mods(const Pair& at, float capped_score, float gradient) const {
    const AttentionOptions& o = p_.options;
    gradient = through_score_mod(at, capped_score, gradient);
    if (!o.softcap) return gradient;
    const float t = capped_score / *o.softcap;
    const float square = t * t;
    return gradient * (1.0f - square);
  }

  void write(const MutableTensorView& view, std::int64_t b, std::int64_t head, std::int64_t row,
             const Sums& sums, float factor) const {
    for (std::size_t c = 0; c < sums.size(); ++c) {
      store_result(view, offset_of(view, b, head, row, static_cast<std::int64_t>(c)),
                   sums[c] * factor);
    }
  }

  void d_query_row(const Sequence& s, std::int64_t head, std::int64_t i) const {
    const Sums sums = tree_sum(s.first_key, s.end_key, p_.d_qk(), [&](std::int64_t j, Sums& b) {
      const PairGradient at = pair(s, head, i, j);
      if (at.live) add_products(b, at.d_score, p_.key, s, p_.key_head(head), s.key_row(j));
    });
    write(g_.d_query, s.buffer, head, s.query_begin + i, sums, p_.scale);
  }

  // d_key from ds and the queries, or d_value from the weights and d_out.
  void d_key_row(const Sequence& s, std::int64_t kv, std::int64_t j,
                 const MutableTensorView& result, const TensorView& rows, float factor,
                 bool of_score) const {
    if (!result.defined()) return;
    std::optional<Sums> total;
    for (std::int64_t head = kv * p_.group(); head < (kv + 1) * p_.group(); ++head) {
      const Sums sums = tree_sum(0, s.queries, rows.extents[3], [&](std::int64_t i, Sums& b) {
        const PairGradient at = pair(s, head, i, j);
        if (!at.live || (!of_score && !at.kept)) return;
        add_products(b, of_score ? at.d_score : at.weight, rows, s, head, s.query_begin + i);
      });
      if (total) {
        add(*total, sums);
      } else {
        total = sums;
      }
    }
    write(result, s.buffer, kv, s.key_row(j), *total, factor);
  }

  // B_c = fma(x, row_c, B_c).
  void add_products(Sums& b, float x, const TensorView& view, const Sequence& s, std::int64_t head,
                    std::int64_t row) const {
    for (std::size_t c = 0; c < b.size(); ++c) {
      const auto column = static_cast<std::int64_t>(c);
      b[c] = fma(x, load_float(view, offset_of(view, s.buffer, head, row, column)), b[c]);
    }
  }

  void add_to_bias(const Sequence& s, std::int64_t head) const {
    if (!g_.d_bias.defined()) return;
    for (std::int64_t i = 0; i < s.queries; ++i) {
      for (std::int64_t j = s.first_key; j < s.end_key; ++j) {
        const PairGradient at = pair(s, head, i, j);
        if (!at.live) continue;
        const std::int64_t place =
            offset_of(g_.d_bias, s.buffer, head, s.query_begin + i, s.key_row(j));
        store_result(g_.d_bias, place, load_float(g_.d_bias, place) + at.d_final);
      }
    }
  }

  void add_to_sinks(const Sequence& s) const {
    for (std::int64_t head = 0; head < p_.query_heads(); ++head) {
      const float sink = p_.options.sinks[head];
      if (sink == -kInfinity) continue;
      const Sums sum = tree_sum(0, s.queries, 1, [&](std::int64_t i, Sums& b) {
        const RowNumbers& row = numbers(s, head, i);
        const float weight = exp(sink - row.m) / row.l;
        b[0] = b[0] + weight * ((0.0f - row.d) + row.d_lse);
      });
      const std::int64_t place = head * g_.d_sinks.strides[0];
      store_result(g_.d_sinks, place, load_float(g_.d_sinks, place) + sum[0]);
    }
  }

  const GradientProblem& g_;
  const Problem& p_;
  std::vector<RowNumbers> numbers_;  // [Hq][live queries] of the sequence
};

}  // namespace

ForwardRow forward_row(const GradientProblem& g, const Sequence& s, std::int64_t head,
                       std::int64_t i) {
  const Problem& p = g.forward;
  ForwardRow result{0.0f, 0.0f, Sums(static_cast<std::size_t>(p.d_v()))};
  if (!g.has_forward_results()) {
    const RowState state = final_state(p, s, head, i);
    for (std::size_t c = 0; c < result.out.size(); ++c) {
      result.out[c] = canonical(out_of(state, static_cast<std::int64_t>(c)) * p.dropout_factor);
    }
    result.m = state.m;
    result.l = state.l;
    return result;
  }
  const std::int64_t row = s.query_begin + i;
  const auto number = [&](const TensorView& view, std::int64_t c) {
    return load_float(view, offset_of(view, s.buffer, head, row, c));
  };
  result.m = number(g.row_max, 0);
  // With the LSE in place of m, the weight is exp(s - lse).
  const float from_lse = result.m == -kInfinity ? 0.0f : 1.0f;
  result.l = g.row_sum.defined() ? number(g.row_sum, 0) : from_lse;
  for (std::size_t c = 0; c < result.out.size(); ++c) {
    result.out[c] = number(g.out, static_cast<std::int64_t>(c));
  }
  return result;
}

float through_score_mod(const Pair& at, float capped_score, float gradient) {
  const AttentionOptions& o = at.p.options;
  if (!o.score_mod_gradient) return gradient;
  ScoreGradientTile tile;
  tile.batch = at.sequence.index;
  tile.rows = tile.keys = 1;
  tile.heads = &at.head;
  tile.positions = &at.position;
  tile.first_key = at.j;
  tile.scores = &capped_score;
  tile.gradients = &gradient;
  tile.row_stride = tile.key_stride = 1;
  o.score_mod_gradient(tile);
  return gradient;
}

void gradients(const GradientProblem& g) {
  clear_sums(g);
  Gradients gradients(g);
  for (std::int64_t b = 0; b < g.forward.sequences; ++b) gradients.sequence(g.forward.sequence(b));
  clear_dead_rows(g);
}

}  // namespace qkv::exact
