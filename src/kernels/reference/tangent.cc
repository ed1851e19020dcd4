#include "kernels/reference/tangent.h"

#include <algorithm>
#include <vector>

#include "kernels/reference/row.h"

namespace qkv::reference {
namespace {

// A number, its tangent along the directions, and how large the terms of the tangent are together.
template <class T>
struct Dual {
  T value = 0, tangent = 0;
  double size = 0;
};

template <class T>
double magnitude(T x) {
  return x < 0 ? -static_cast<double>(x) : static_cast<double>(x);
}

// The work on one key head. T is the type of every operation: double, or float for the yardstick.
template <class T>
class TangentHead {
 public:
  TangentHead(const TangentProblem& t, const Sequence& sequence, std::int64_t key_head,
              const ScoreMods64& mods, std::span<T> scratch, LargestTangents* largest)
      : t_(t),
        g_(t.gradient),
        p_(t.gradient.forward),
        sequence_(sequence),
        key_head_(key_head),
        mods_(mods),
        largest_(largest),
        factor_(dropout_factor<T>(p_)) {
    const auto take = [&](std::int64_t count) {
      const std::span<T> piece = scratch.first(static_cast<std::size_t>(count));
      scratch = scratch.subspan(static_cast<std::size_t>(count));
      std::fill(piece.begin(), piece.end(), T{0});
      return piece;
    };
    weights_ = take(p_.keys());
    moves_ = take(p_.keys());
    d_key_ = take(p_.keys() * p_.d_qk());
    d_value_ = take(p_.keys() * p_.d_v());
    d_query_ = take(p_.d_qk());
  }

  void run() {
    for (std::int64_t n = 0; n < p_.group(); ++n) {
      for (std::int64_t i = 0; i < sequence_.queries; ++i) {
        add_row(Row<T>{p_, sequence_, mods_.score_mod, key_head_ * p_.group() + n, i});
      }
    }
    for (std::int64_t j = sequence_.first_key; j < sequence_.end_key; ++j) {
      write(g_.d_key, key_head_, sequence_.key_row(j), d_key_.data() + at(j, p_.d_qk(), 0),
            static_cast<T>(p_.scale64));
      write(g_.d_value, key_head_, sequence_.key_row(j), d_value_.data() + at(j, p_.d_v(), 0),
            factor_);
    }
  }

 private:
  std::size_t at(std::int64_t j, std::int64_t width, std::int64_t c) const {
    return static_cast<std::size_t>((j - sequence_.first_key) * width + c);
  }
  static T element(const TensorView& view, std::int64_t offset) {
    return static_cast<T>(load_double(view, offset));
  }
  // Absent: zeros.
  T of_row(const TensorView& view, const Row<T>& row, std::int64_t c) const {
    if (!view.defined()) return 0;
    return element(view, offset_of(view, sequence_.buffer, row.head, row.query_row(), c));
  }
  T of_key(const TensorView& view, std::int64_t j, std::int64_t c) const {
    if (!view.defined()) return 0;
    return element(view, offset_of(view, sequence_.buffer, key_head_, sequence_.key_row(j), c));
  }
  T of_pair(const TensorView& view, const Row<T>& row, std::int64_t j) const {
    return of_row(view, row, sequence_.key_row(j));
  }

  void note(double LargestTangents::* of, double size) {
    if (largest_ != nullptr) largest_->*of = std::max(largest_->*of, size);
  }
  void write(const MutableTensorView& view, std::int64_t head, std::int64_t row, const T* values,
             T factor) {
    if (!view.defined()) return;
    for (std::int64_t c = 0; c < view.extents[3]; ++c) {
      store_result(view, offset_of(view, sequence_.buffer, head, row, c), values[c] * factor);
    }
  }
  static void add(const MutableTensorView& view, std::int64_t offset, T value) {
    store_result(view, offset, element(view, offset) + value);
  }

  // Visible keys that are not masked: f(j, place of j in weights_ and moves_).
  template <class F>
  void for_live(const Softmax<T>& soft, F f) const {
    for (std::int64_t j = soft.keys.begin; j < soft.keys.end; ++j) {
      const auto n = static_cast<std::size_t>(j - soft.keys.begin);
      if (weights_[n] != kMasked<T>) f(j, n);
    }
  }

  // dot(q, k) times the scale, moving.
  Dual<T> scaled_product(const Row<T>& row, std::int64_t j) const {
    Dual<T> s;
    for (std::int64_t c = 0; c < p_.d_qk(); ++c) {
      const T q = of_row(p_.query, row, c), k = of_key(p_.key, j, c);
      const T left = of_row(t_.query, row, c) * k, right = q * of_key(t_.key, j, c);
      s.value += q * k;
      s.tangent += left + right;
      s.size += magnitude(left) + magnitude(right);
    }
    const T scale = static_cast<T>(p_.scale64);
    return {s.value * scale, s.tangent * scale, s.size * magnitude(scale)};
  }

  // softcap's derivative at a score that it left as `capped`, and the tanh in it.
  struct Cap {
    T derivative, tanh;
  };
  Cap cap_of(T capped) const {
    if (!p_.options.softcap) return {1, 0};
    const T u = capped / static_cast<T>(*p_.options.softcap);
    return {1 - u * u, u};
  }

  // The tangent of the final score of key j.
  Dual<T> moving_score(const Row<T>& row, std::int64_t j) const {
    Dual<T> s = scaled_product(row, j);
    const T capped = row.capped_score(j);
    T derivative = cap_of(capped).derivative;
    if (mods_.derivative) {
      derivative *=
          static_cast<T>(mods_.derivative(capped, sequence_.index, row.head, row.position(), j));
    }
    const T bias = of_pair(t_.bias, row, j);
    return {0, s.tangent * derivative + bias, s.size * magnitude(derivative) + magnitude(bias)};
  }

  // dot(d_out, v_j) times dropout's factor, moving.
  Dual<T> moving_weight_gradient(const Row<T>& row, std::int64_t j) const {
    Dual<T> d;
    if (!row.kept(j)) return d;
    for (std::int64_t c = 0; c < p_.d_v(); ++c) {
      const T d_out = of_row(g_.d_out, row, c), v = of_key(p_.value, j, c);
      const T left = of_row(t_.d_out, row, c) * v, right = d_out * of_key(t_.value, j, c);
      d.value += d_out * v;
      d.tangent += left + right;
      d.size += magnitude(left) + magnitude(right);
    }
    return {d.value * factor_, d.tangent * factor_, d.size * static_cast<double>(factor_)};
  }

  // What all pairs of a row share.
  struct RowNumbers {
    Dual<T> lse;    // its value is not needed
    Dual<T> delta;  // dot(d_out, out)
    Dual<T> d_lse;
    Dual<T> sink;  // its weight, if there is one
    bool has_sink = false;
  };

  void add_row(const Row<T>& row) {
    Softmax<T> soft = softmax(row, weights_);
    RowNumbers numbers = move_lse(row, soft);
    for (std::int64_t c = 0; c < p_.d_v(); ++c) move_out(row, soft, c, numbers);
    if (t_.lse.defined()) {
      store_result(t_.lse, offset_of(t_.lse, sequence_.buffer, row.head, row.query_row(), 0),
                   numbers.lse.tangent);
    }
    note(&LargestTangents::lse, numbers.lse.size);
    if (!t_.of_gradients()) return;
    numbers.d_lse = {of_row(g_.d_lse, row, 0), of_row(t_.d_lse, row, 0), 0};
    std::fill(d_query_.begin(), d_query_.end(), T{0});
    for_live(soft, [&](std::int64_t j, std::size_t n) {
      add_pair(row, j, moving_weight(weights_[n], moves_[n], numbers), numbers);
    });
    write(g_.d_query, row.head, row.query_row(), d_query_.data(), static_cast<T>(p_.scale64));
    if (!g_.d_sinks.defined() || !numbers.has_sink) return;
    const Dual<T> d = moving_gradient(numbers.sink, {}, numbers);
    add(g_.d_sinks, row.head * g_.d_sinks.strides[0], d.tangent);
    note(&LargestTangents::d_sinks, d.size);
  }

  // Leaves the weights in weights_ and the tangents of the scores in moves_.
  RowNumbers move_lse(const Row<T>& row, const Softmax<T>& soft) {
    RowNumbers numbers;
    for_live(soft, [&](std::int64_t j, std::size_t n) {
      weights_[n] /= soft.l;
      const Dual<T> s = moving_score(row, j);
      moves_[n] = s.tangent;
      numbers.lse.tangent += weights_[n] * s.tangent;
      numbers.lse.size += magnitude(weights_[n]) * s.size;
    });
    const std::vector<float>& sinks = p_.options.sinks;
    numbers.has_sink = !sinks.empty() && sinks[row.head] != -kInfinity<float>;
    if (!numbers.has_sink) return numbers;
    const T weight =
        static_cast<T>(exp(static_cast<double>(static_cast<T>(sinks[row.head]) - soft.m))) / soft.l;
    const T move = t_.sinks.defined() ? element(t_.sinks, row.head * t_.sinks.strides[0]) : T{0};
    numbers.lse.tangent += weight * move;
    numbers.lse.size += magnitude(weight) * magnitude(move);
    numbers.sink = moving_weight(weight, move, numbers);
    return numbers;
  }

  Dual<T> moving_weight(T weight, T move, const RowNumbers& numbers) const {
    return {weight, weight * (move - numbers.lse.tangent),
            magnitude(weight) * (magnitude(move) + numbers.lse.size)};
  }

  // Column c of out, and its part of D.
  void move_out(const Row<T>& row, const Softmax<T>& soft, std::int64_t c, RowNumbers& numbers) {
    Dual<T> out;
    for_live(soft, [&](std::int64_t j, std::size_t n) {
      if (!row.kept(j)) return;
      const Dual<T> w = moving_weight(weights_[n], moves_[n], numbers);
      const T v = of_key(p_.value, j, c), v_moves = of_key(t_.value, j, c);
      out.value += w.value * v;
      out.tangent += w.tangent * v + w.value * v_moves;
      out.size += w.size * magnitude(v) + magnitude(w.value) * magnitude(v_moves);
    });
    out = {out.value * factor_, out.tangent * factor_, out.size * static_cast<double>(factor_)};
    note(&LargestTangents::out, out.size);
    if (t_.out.defined()) {
      store_result(t_.out, offset_of(t_.out, sequence_.buffer, row.head, row.query_row(), c),
                   out.tangent);
    }
    const T d_out = of_row(g_.d_out, row, c), d_out_moves = of_row(t_.d_out, row, c);
    numbers.delta.value += d_out * out.value;
    numbers.delta.tangent += d_out_moves * out.value + d_out * out.tangent;
    numbers.delta.size += magnitude(d_out_moves * out.value) + magnitude(d_out) * out.size;
  }

  // w (d - D + d_lse), moving; d is the gradient of the weight.
  Dual<T> moving_gradient(const Dual<T>& w, const Dual<T>& d, const RowNumbers& numbers) const {
    const T e = (d.value - numbers.delta.value) + numbers.d_lse.value;
    const T moves = (d.tangent - numbers.delta.tangent) + numbers.d_lse.tangent;
    return {w.value * e, w.tangent * e + w.value * moves,
            w.size * magnitude(e) + magnitude(w.value) * (d.size + numbers.delta.size +
                                                          magnitude(numbers.d_lse.tangent))};
  }

  void add_pair(const Row<T>& row, std::int64_t j, const Dual<T>& w, const RowNumbers& numbers) {
    Dual<T> g = moving_gradient(w, moving_weight_gradient(row, j), numbers);
    note(&LargestTangents::d_bias, g.size);
    if (g_.d_bias.defined()) {
      add(g_.d_bias,
          offset_of(g_.d_bias, sequence_.buffer, row.head, row.query_row(), sequence_.key_row(j)),
          g.tangent);
    }
    if (p_.options.softcap) {
      const Cap cap = cap_of(row.capped_score(j));
      const Dual<T> s = scaled_product(row, j);
      // The derivative 1 - u^2 moves by -2 u u. and u. = (1 - u^2) s. / cap.
      const T bend = -2 * cap.tanh * cap.derivative / static_cast<T>(*p_.options.softcap);
      g = {g.value * cap.derivative, g.tangent * cap.derivative + g.value * bend * s.tangent,
           g.size * magnitude(cap.derivative) + magnitude(g.value * bend) * s.size};
    }
    for (std::int64_t c = 0; c < p_.d_qk(); ++c) {
      const T q = of_row(p_.query, row, c), k = of_key(p_.key, j, c);
      const T q_moves = of_row(t_.query, row, c), k_moves = of_key(t_.key, j, c);
      d_query_[static_cast<std::size_t>(c)] += g.tangent * k + g.value * k_moves;
      d_key_[at(j, p_.d_qk(), c)] += g.tangent * q + g.value * q_moves;
      note(&LargestTangents::d_query, g.size * magnitude(k) + magnitude(g.value * k_moves));
      note(&LargestTangents::d_query, magnitude(d_query_[static_cast<std::size_t>(c)]));
      note(&LargestTangents::d_key, g.size * magnitude(q) + magnitude(g.value * q_moves));
      note(&LargestTangents::d_key, magnitude(d_key_[at(j, p_.d_qk(), c)]));
    }
    if (!row.kept(j)) return;
    for (std::int64_t c = 0; c < p_.d_v(); ++c) {
      const T d_out = of_row(g_.d_out, row, c), d_out_moves = of_row(t_.d_out, row, c);
      d_value_[at(j, p_.d_v(), c)] += w.tangent * d_out + w.value * d_out_moves;
      note(&LargestTangents::d_value, w.size * magnitude(d_out) + magnitude(w.value * d_out_moves));
      note(&LargestTangents::d_value, magnitude(d_value_[at(j, p_.d_v(), c)]));
    }
  }

  const TangentProblem& t_;
  const GradientProblem& g_;
  const Problem& p_;
  const Sequence& sequence_;
  std::int64_t key_head_;
  const ScoreMods64& mods_;
  LargestTangents* largest_;
  T factor_;
  std::span<T> weights_;          // [visible keys of the row] kMasked for masked ones
  std::span<T> moves_;            // the same: tangents of the scores
  std::span<T> d_key_, d_value_;  // [keys][d_qk], [keys][d_v]
  std::span<T> d_query_;          // [d_qk] of the row
};

template <class T>
void all_tangents(const TangentProblem& t, const ScoreMods64& mods,
                  LargestTangents* largest = nullptr) {
  clear_sums(t.gradient);
  const Problem& p = t.gradient.forward;
  std::vector<T> scratch(tangent_scratch(t));
  for (std::int64_t b = 0; b < p.sequences; ++b) {
    const Sequence sequence = p.sequence(b);
    for (std::int64_t head = 0; head < p.key_heads(); ++head) {
      TangentHead<T>(t, sequence, head, mods, scratch, largest).run();
    }
  }
  clear_dead_rows(t);
}

const ScoreMods64 kNoMods;

}  // namespace

std::size_t tangent_scratch(const TangentProblem& t) {
  const Problem& p = t.gradient.forward;
  return static_cast<std::size_t>(p.keys() * (2 + p.d_qk() + p.d_v()) + p.d_qk() + 1);
}

void key_head_tangents(const TangentProblem& t, const Sequence& sequence, std::int64_t key_head,
                       std::span<double> scratch) {
  TangentHead<double>(t, sequence, key_head, kNoMods, scratch, nullptr).run();
}

void tangents(const TangentProblem& t, const ScoreMods64& mods, LargestTangents* largest) {
  all_tangents<double>(t, mods, largest);
}

void tangents_plain_float(const TangentProblem& t, const ScoreMods64& mods) {
  all_tangents<float>(t, mods);
}

}  // namespace qkv::reference
