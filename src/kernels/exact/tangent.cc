#include "kernels/exact/tangent.h"

#include <limits>
#include <optional>
#include <vector>

#include "kernels/exact/functions.h"
#include "kernels/exact/gradient.h"
#include "kernels/exact/pair.h"
#include "kernels/exact/tree_sum.h"
#include "tensor/element.h"

namespace qkv::exact {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A number, and its tangent.
struct Dual {
  float value = 0.0f, tangent = 0.0f;
};

// What every pair of a row needs.
struct RowNumbers {
  float m, l;
  float lse;      // the tangent alone
  Dual d, d_lse;  // D and d_lse
};

// `live` is false for a masked pair, which takes part in nothing.
struct LivePair {
  bool live = false;
  bool kept = false;    // by dropout
  float weight = 0.0f;  // p
  float scaled = 0.0f;  // the tangent of the scaled dot product
  float u = 0.0f;       // the tanh in softcap
  float score = 0.0f;   // the tangent of the final score
};

struct PairGradient {
  bool live = false, kept = false;
  Dual weight;
  Dual score;          // of the scaled dot product
  float final = 0.0f;  // the tangent of that of the final score, and so of the bias
};

class TangentWork {
 public:
  explicit TangentWork(const TangentProblem& t) : t_(t), g_(t.gradient), p_(t.gradient.forward) {}

  void sequence(const Sequence& s) {
    numbers_.clear();
    for (std::int64_t head = 0; head < p_.query_heads(); ++head) {
      for (std::int64_t i = 0; i < s.queries; ++i) numbers_.push_back(forward(s, head, i));
    }
    if (!t_.of_gradients()) return;
    for (std::int64_t head = 0; head < p_.query_heads(); ++head) {
      for (std::int64_t i = 0; i < s.queries; ++i) row(s, head, i);
    }
    for (std::int64_t kv = 0; kv < p_.key_heads(); ++kv) {
      for (std::int64_t j = s.first_key; j < s.end_key; ++j) column(s, kv, j);
    }
    if (g_.d_sinks.defined()) add_to_sinks(s);
  }

 private:
  const RowNumbers& numbers(const Pair& at) const {
    return numbers_[static_cast<std::size_t>(at.head * at.sequence.queries + at.i)];
  }

  static TensorView view_of(const Sums& sums) {
    return {sums.data(), {1, 1, 1, static_cast<std::int64_t>(sums.size())}};
  }

  // dot(a, b) of a row of the queries and a row of the keys; +0 if either is absent.
  float dot_pair(const Pair& at, const TensorView& a, const TensorView& b) const {
    if (!a.defined() || !b.defined()) return 0.0f;
    const std::int64_t buffer = at.sequence.buffer;
    return dot(a, offset_of(a, buffer, at.head, at.query_row(), 0), a.strides[3], b,
               offset_of(b, buffer, p_.key_head(at.head), at.key_row(), 0), b.strides[3],
               a.extents[3]);
  }

  // 1. The pair: its score's tangent.
  LivePair pair(const Pair& at, float m, float l) const {
    LivePair result;
    const KeyRange visible = p_.visible_keys(at.sequence, at.position);
    if (at.j < visible.begin || at.j >= visible.end || masked(at)) return result;
    const float t = query_times_key(at), final_score = exact::score(at, t);
    if (final_score == -kInfinity) return result;
    result.live = true;
    result.kept = kept(p_, at.sequence, at.head, at.position, at.j);
    result.weight = exp(final_score - m) / l;
    const float t_tangent = dot_pair(at, t_.query, p_.key) + dot_pair(at, p_.query, t_.key);
    result.scaled = t_tangent * p_.scale;
    result.score = result.scaled;
    const float capped_score = capped(at, t);
    if (p_.options.softcap) {
      result.u = capped_score / *p_.options.softcap;
      result.score = result.score * derivative(result.u);
    }
    result.score = through_score_mod(at, capped_score, result.score);
    if (t_.bias.defined()) {
      const std::int64_t place =
          offset_of(t_.bias, at.sequence.buffer, at.head, at.query_row(), at.key_row());
      result.score = result.score + load_float(t_.bias, place);
    }
    return result;
  }

  static float derivative(float u) {
    const float square = u * u;
    return 1.0f - square;
  }

  // 2. The row: lse, out, D.
  RowNumbers forward(const Sequence& s, std::int64_t head, std::int64_t i) const {
    const ForwardRow row = forward_row(g_, s, head, i);
    const Pair first{p_, s, head, i, s.position(i), s.first_key};
    const auto at = [&](std::int64_t j) { return Pair{p_, s, head, i, first.position, j}; };
    std::vector<LivePair> pairs;
    for (std::int64_t j = s.first_key; j < s.end_key; ++j) {
      pairs.push_back(pair(at(j), row.m, row.l));
    }
    const auto pair_of = [&](std::int64_t j) -> const LivePair& {
      return pairs[static_cast<std::size_t>(j - s.first_key)];
    };
    Sums lse = tree_sum(s.first_key, s.end_key, 1, [&](std::int64_t j, Sums& b) {
      const LivePair& x = pair_of(j);
      if (x.live) b[0] = fma(x.weight, x.score, b[0]);
    });
    if (t_.sinks.defined() && p_.options.sinks[head] != -kInfinity) {
      const float weight = exp(p_.options.sinks[head] - row.m) / row.l;
      lse[0] = fma(weight, load_float(t_.sinks, head * t_.sinks.strides[0]), lse[0]);
    }
    Sums out = tree_sum(
        s.first_key, s.end_key, p_.d_v(),
        [&](std::int64_t j, Sums& b) {
          const LivePair& x = pair_of(j);
          if (x.live && x.kept) add_key(b, x.weight * x.score, p_.value, at(j));
        },
        [&](std::int64_t j, Sums& b) {
          const LivePair& x = pair_of(j);
          if (x.live && x.kept) add_key(b, x.weight, t_.value, at(j));
        });
    for (std::size_t c = 0; c < out.size(); ++c) {
      const float moved = lse[0] * row.out[c];
      out[c] = out[c] * p_.dropout_factor - moved;
    }
    if (t_.out.defined()) write(t_.out, s.buffer, head, first.query_row(), out, 1.0f);
    if (t_.lse.defined()) write(t_.lse, s.buffer, head, first.query_row(), lse, 1.0f);
    RowNumbers result{row.m, row.l, lse[0], {}, {}};
    if (!t_.of_gradients()) return result;
    const auto times = [&](const TensorView& d_out, const Sums& x) {
      if (!d_out.defined()) return 0.0f;
      return dot(d_out, offset_of(d_out, s.buffer, head, first.query_row(), 0), d_out.strides[3],
                 view_of(x), 0, 1, p_.d_v());
    };
    const auto of_row = [&](const TensorView& view) {
      if (!view.defined()) return 0.0f;
      return load_float(view, offset_of(view, s.buffer, head, first.query_row(), 0));
    };
    result.d = {times(g_.d_out, row.out), times(t_.d_out, row.out) + times(g_.d_out, out)};
    result.d_lse = {of_row(g_.d_lse), of_row(t_.d_lse)};
    return result;
  }

  // 3. The gradients of a pair, and their tangents. d is the gradient of the weight.
  static Dual gradient_of(const Dual& weight, const Dual& d, const RowNumbers& row) {
    const float e = (d.value - row.d.value) + row.d_lse.value;
    const float e_tangent = (d.tangent - row.d.tangent) + row.d_lse.tangent;
    return {weight.value * e, fma(weight.tangent, e, weight.value * e_tangent)};
  }

  PairGradient gradient(const Pair& at) const {
    const RowNumbers& row = numbers(at);
    PairGradient result;
    const LivePair x = pair(at, row.m, row.l);
    if (!x.live) return result;
    result.live = true;
    result.kept = x.kept;
    result.weight = {x.weight, x.weight * (x.score - row.lse)};
    Dual d;
    if (x.kept) {
      d.value = dot_pair(at, g_.d_out, p_.value) * p_.dropout_factor;
      d.tangent =
          (dot_pair(at, t_.d_out, p_.value) + dot_pair(at, g_.d_out, t_.value)) * p_.dropout_factor;
    }
    result.score = gradient_of(result.weight, d, row);
    result.final = result.score.tangent;
    if (!p_.options.softcap) return result;
    const float bend = (x.u + x.u) * (x.scaled / *p_.options.softcap);
    const float bent = result.score.value * bend;
    result.score.tangent = (result.score.tangent - bent) * derivative(x.u);
    result.score.value = result.score.value * derivative(x.u);
    return result;
  }

  // 4. The sums.
  void write(const MutableTensorView& view, std::int64_t b, std::int64_t head, std::int64_t row,
             const Sums& sums, float factor) const {
    for (std::size_t c = 0; c < sums.size(); ++c) {
      store_result(view, offset_of(view, b, head, row, static_cast<std::int64_t>(c)),
                   sums[c] * factor);
    }
  }

  // B_c = fma(x, row_c, B_c); absent rows give nothing.
  static void add_products(Sums& b, float x, const TensorView& view, std::int64_t offset) {
    for (std::size_t c = 0; c < b.size(); ++c) {
      const std::int64_t step = static_cast<std::int64_t>(c) * view.strides[3];
      b[c] = fma(x, load_float(view, offset + step), b[c]);
    }
  }
  void add_key(Sums& b, float x, const TensorView& view, const Pair& at) const {
    if (!view.defined()) return;
    add_products(b, x, view,
                 offset_of(view, at.sequence.buffer, p_.key_head(at.head), at.key_row(), 0));
  }
  static void add_query(Sums& b, float x, const TensorView& view, const Pair& at) {
    if (!view.defined()) return;
    add_products(b, x, view, offset_of(view, at.sequence.buffer, at.head, at.query_row(), 0));
  }

  // d_query of a row, and its part of d_bias.
  void row(const Sequence& s, std::int64_t head, std::int64_t i) const {
    const auto at = [&](std::int64_t j) { return Pair{p_, s, head, i, s.position(i), j}; };
    std::vector<PairGradient> pairs;
    for (std::int64_t j = s.first_key; j < s.end_key; ++j) pairs.push_back(gradient(at(j)));
    const auto pair_of = [&](std::int64_t j) -> const PairGradient& {
      return pairs[static_cast<std::size_t>(j - s.first_key)];
    };
    const Sums sum = tree_sum(
        s.first_key, s.end_key, p_.d_qk(),
        [&](std::int64_t j, Sums& b) {
          if (pair_of(j).live) add_key(b, pair_of(j).score.tangent, p_.key, at(j));
        },
        [&](std::int64_t j, Sums& b) {
          if (pair_of(j).live) add_key(b, pair_of(j).score.value, t_.key, at(j));
        });
    if (g_.d_query.defined()) write(g_.d_query, s.buffer, head, s.query_begin + i, sum, p_.scale);
    for (std::int64_t j = s.first_key; g_.d_bias.defined() && j < s.end_key; ++j) {
      if (!pair_of(j).live) continue;
      const std::int64_t place =
          offset_of(g_.d_bias, s.buffer, head, at(j).query_row(), at(j).key_row());
      store_result(g_.d_bias, place, load_float(g_.d_bias, place) + pair_of(j).final);
    }
  }

  // d_key and d_value of a key: over the rows of each head, then over the heads.
  void column(const Sequence& s, std::int64_t kv, std::int64_t j) const {
    std::optional<Sums> d_key, d_value;
    const auto add_head = [](std::optional<Sums>& total, const Sums& sum) {
      if (total) {
        add(*total, sum);
      } else {
        total = sum;
      }
    };
    for (std::int64_t head = kv * p_.group(); head < (kv + 1) * p_.group(); ++head) {
      const auto at = [&](std::int64_t i) { return Pair{p_, s, head, i, s.position(i), j}; };
      std::vector<PairGradient> pairs;
      pairs.reserve(static_cast<std::size_t>(s.queries));
      for (std::int64_t i = 0; i < s.queries; ++i) pairs.push_back(gradient(at(i)));
      const auto over_rows = [&](const TensorView& rows, const TensorView& rows_tangent,
                                 Dual PairGradient::* part, bool PairGradient::* takes_part) {
        const auto term = [&](const TensorView& view, float Dual::* number) {
          return [&view, &pairs, &at, part, takes_part, number](std::int64_t i, Sums& b) {
            const PairGradient& x = pairs[static_cast<std::size_t>(i)];
            if (x.*takes_part) add_query(b, x.*part.*number, view, at(i));
          };
        };
        return tree_sum(0, s.queries, rows.extents[3], term(rows, &Dual::tangent),
                        term(rows_tangent, &Dual::value));
      };
      add_head(d_key, over_rows(p_.query, t_.query, &PairGradient::score, &PairGradient::live));
      add_head(d_value, over_rows(g_.d_out, t_.d_out, &PairGradient::weight, &PairGradient::kept));
    }
    if (g_.d_key.defined()) write(g_.d_key, s.buffer, kv, s.key_row(j), *d_key, p_.scale);
    if (g_.d_value.defined()) {
      write(g_.d_value, s.buffer, kv, s.key_row(j), *d_value, p_.dropout_factor);
    }
  }

  void add_to_sinks(const Sequence& s) const {
    for (std::int64_t head = 0; head < p_.query_heads(); ++head) {
      const float sink = p_.options.sinks[head];
      if (sink == -kInfinity) continue;
      const float tangent =
          t_.sinks.defined() ? load_float(t_.sinks, head * t_.sinks.strides[0]) : 0.0f;
      const Sums sum = tree_sum(0, s.queries, 1, [&](std::int64_t i, Sums& b) {
        const RowNumbers& row = numbers(Pair{p_, s, head, i, s.position(i), 0});
        const float weight = exp(sink - row.m) / row.l;
        b[0] = b[0] + gradient_of({weight, weight * (tangent - row.lse)}, {}, row).tangent;
      });
      const std::int64_t place = head * g_.d_sinks.strides[0];
      store_result(g_.d_sinks, place, load_float(g_.d_sinks, place) + sum[0]);
    }
  }

  const TangentProblem& t_;
  const GradientProblem& g_;
  const Problem& p_;
  std::vector<RowNumbers> numbers_;  // [Hq][live queries] of the sequence
};

}  // namespace

void tangents(const TangentProblem& t) {
  clear_sums(t.gradient);
  TangentWork work(t);
  const Problem& p = t.gradient.forward;
  for (std::int64_t b = 0; b < p.sequences; ++b) work.sequence(p.sequence(b));
  clear_dead_rows(t);
}

}  // namespace qkv::exact
