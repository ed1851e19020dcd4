#include "kernels/reference/gradient.h"

#include <algorithm>
#include <vector>

#include "kernels/reference/row.h"

namespace qkv::reference {
namespace {

// The work on one key head. T is the type of every operation: double, or float for the yardstick.
template <class T>
class KeyHead {
 public:
  KeyHead(const GradientProblem& g, const Sequence& sequence, std::int64_t key_head,
          const ScoreMods64& mods, std::span<T> scratch, LargestSums* largest)
      : g_(g),
        p_(g.forward),
        sequence_(sequence),
        key_head_(key_head),
        mods_(mods),
        largest_(largest),
        d_qk_(p_.d_qk()),
        d_v_(p_.d_v()) {
    const auto keys = static_cast<std::size_t>(p_.keys());
    const auto take = [&](std::size_t count) {
      const std::span<T> piece = scratch.first(count);
      scratch = scratch.subspan(count);
      return piece;
    };
    weights_ = take(keys);
    d_key_ = take(keys * static_cast<std::size_t>(d_qk_));
    d_value_ = take(keys * static_cast<std::size_t>(d_v_));
    d_query_ = take(static_cast<std::size_t>(d_qk_));
    std::fill(d_key_.begin(), d_key_.end(), T{0});
    std::fill(d_value_.begin(), d_value_.end(), T{0});
  }

  void run() {
    for (std::int64_t n = 0; n < p_.group(); ++n) {
      for (std::int64_t i = 0; i < sequence_.queries; ++i) {
        add_row(Row<T>{p_, sequence_, mods_.score_mod, key_head_ * p_.group() + n, i});
      }
    }
    for (std::int64_t j = sequence_.first_key; j < sequence_.end_key; ++j) {
      write(g_.d_key, key_head_, sequence_.key_row(j), d_key_.subspan(at(j, d_qk_)),
            static_cast<T>(p_.scale64));
      write(g_.d_value, key_head_, sequence_.key_row(j), d_value_.subspan(at(j, d_v_)),
            dropout_factor<T>(p_));
    }
  }

 private:
  std::size_t at(std::int64_t j, std::int64_t width) const {
    return static_cast<std::size_t>((j - sequence_.first_key) * width);
  }

  void write(const MutableTensorView& view, std::int64_t head, std::int64_t row,
             std::span<const T> values, T factor) {
    if (!view.defined()) return;
    for (std::int64_t c = 0; c < view.extents[3]; ++c) {
      store_result(view, offset_of(view, sequence_.buffer, head, row, c),
                   values[static_cast<std::size_t>(c)] * factor);
    }
  }

  void add(const MutableTensorView& view, std::int64_t offset, T value, double LargestSums::* of) {
    if (!view.defined()) return;
    T sum = static_cast<T>(load_double(view, offset));
    add(sum, value, of);
    store_result(view, offset, sum);
  }

  void add(T& sum, T value, double LargestSums::* of) {
    sum += value;
    if (largest_ == nullptr) return;
    note(magnitude(sum), of);
  }

  static double magnitude(T x) { return x < 0 ? -static_cast<double>(x) : static_cast<double>(x); }
  void note(double most, double LargestSums::* of) {
    if (largest_ != nullptr && most > largest_->*of) largest_->*of = most;
  }

  T load_row(const TensorView& view, const Row<T>& row, std::int64_t c) const {
    return row.load(view, offset_of(view, sequence_.buffer, row.head, row.query_row(), c));
  }
  T load_key(const TensorView& view, const Row<T>& row, std::int64_t j, std::int64_t c) const {
    return row.load(view, offset_of(view, sequence_.buffer, key_head_, sequence_.key_row(j), c));
  }

  // A dot product, and the largest magnitude it has on its way.
  struct Dot {
    T sum = 0;
    double most = 0;
    void add(T term) {
      sum += term;
      most = std::max({most, magnitude(sum), magnitude(term)});
    }
  };

  // dot(d_out, out).
  Dot delta(const Row<T>& row, const Softmax<T>& soft) const {
    Dot dot;
    for (std::int64_t c = 0; c < d_v_; ++c) {
      T out = 0;
      for (std::int64_t j = soft.keys.begin; j < soft.keys.end; ++j) {
        const T weight = weights_[static_cast<std::size_t>(j - soft.keys.begin)];
        if (weight != kMasked<T> && row.kept(j)) out += weight * load_key(p_.value, row, j, c);
      }
      dot.add(load_row(g_.d_out, row, c) *
              (soft.live ? out / soft.l * dropout_factor<T>(row.p) : T{0}));
    }
    return dot;
  }

  void add_row(const Row<T>& row) {
    std::fill(d_query_.begin(), d_query_.end(), T{0});
    const Softmax<T> soft = softmax(row, weights_);
    const Dot d = delta(row, soft);
    const T d_lse = load_row(g_.d_lse, row, 0);
    for (std::int64_t j = soft.keys.begin; j < soft.keys.end; ++j) {
      const T weight = weights_[static_cast<std::size_t>(j - soft.keys.begin)];
      if (weight != kMasked<T>) add_pair(row, j, weight / soft.l, d, d_lse);
    }
    write(g_.d_query, row.head, row.query_row(), d_query_, static_cast<T>(p_.scale64));

    const std::vector<float>& sinks = p_.options.sinks;
    if (sinks.empty() || sinks[row.head] == -kInfinity<float>) return;
    const T share =
        static_cast<T>(exp(static_cast<double>(static_cast<T>(sinks[row.head]) - soft.m)));
    add(g_.d_sinks, row.head * g_.d_sinks.strides[0], share / soft.l * ((0 - d.sum) + d_lse),
        &LargestSums::d_sinks);
    note(magnitude(share / soft.l) * (d.most + magnitude(d_lse)), &LargestSums::d_sinks);
  }

  void add_pair(const Row<T>& row, std::int64_t j, T weight, const Dot& d, T d_lse) {
    const bool kept = row.kept(j);
    Dot of_weight;
    for (std::int64_t c = 0; c < d_v_; ++c) {
      of_weight.add(load_row(g_.d_out, row, c) * load_key(p_.value, row, j, c));
    }
    const T d_weight = kept ? of_weight.sum * dropout_factor<T>(row.p) : T{0};
    T d_score = weight * ((d_weight - d.sum) + d_lse);
    // What the difference is made of, and so what its rounding is a share of.
    const double made_of = magnitude(weight) * (of_weight.most + d.most + magnitude(d_lse));
    note(made_of, &LargestSums::d_bias);
    if (g_.d_bias.defined()) {
      add(g_.d_bias,
          offset_of(g_.d_bias, sequence_.buffer, row.head, row.query_row(), sequence_.key_row(j)),
          d_score, &LargestSums::d_bias);
    }
    if (mods_.derivative) {
      d_score *= static_cast<T>(
          mods_.derivative(row.capped_score(j), sequence_.index, row.head, row.position(), j));
    }
    if (p_.options.softcap) {
      const T t = row.capped_score(j) / static_cast<T>(*p_.options.softcap);
      d_score *= 1 - t * t;
    }
    for (std::int64_t c = 0; c < d_qk_; ++c) {
      note(made_of * magnitude(load_key(p_.key, row, j, c)), &LargestSums::d_query);
      note(made_of * magnitude(load_row(p_.query, row, c)), &LargestSums::d_key);
      add(d_query_[static_cast<std::size_t>(c)], d_score * load_key(p_.key, row, j, c),
          &LargestSums::d_query);
      add(d_key_[at(j, d_qk_) + static_cast<std::size_t>(c)], d_score * load_row(p_.query, row, c),
          &LargestSums::d_key);
    }
    for (std::int64_t c = 0; kept && c < d_v_; ++c) {
      add(d_value_[at(j, d_v_) + static_cast<std::size_t>(c)], weight * load_row(g_.d_out, row, c),
          &LargestSums::d_value);
    }
  }

  const GradientProblem& g_;
  const Problem& p_;
  const Sequence& sequence_;
  std::int64_t key_head_;
  const ScoreMods64& mods_;
  LargestSums* largest_;
  std::int64_t d_qk_, d_v_;
  std::span<T> weights_;          // [visible keys of the row] exp(s - m), or kMasked
  std::span<T> d_key_, d_value_;  // [keys][d_qk], [keys][d_v]
  std::span<T> d_query_;          // [d_qk] of the row
};

template <class T>
void all_gradients(const GradientProblem& g, const ScoreMods64& mods,
                   LargestSums* largest = nullptr) {
  clear_sums(g);
  std::vector<T> scratch(gradient_scratch(g));
  for (std::int64_t b = 0; b < g.forward.sequences; ++b) {
    const Sequence sequence = g.forward.sequence(b);
    for (std::int64_t head = 0; head < g.forward.key_heads(); ++head) {
      KeyHead<T>(g, sequence, head, mods, scratch, largest).run();
    }
  }
  clear_dead_rows(g);
}

const ScoreMods64 kNoMods;

}  // namespace

std::size_t gradient_scratch(const GradientProblem& g) {
  const Problem& p = g.forward;
  return static_cast<std::size_t>(p.keys() * (1 + p.d_qk() + p.d_v()) + p.d_qk());
}

void key_head_gradients(const GradientProblem& g, const Sequence& sequence, std::int64_t key_head,
                        std::span<double> scratch) {
  KeyHead<double>(g, sequence, key_head, kNoMods, scratch, nullptr).run();
}

void gradients(const GradientProblem& g, const ScoreMods64& mods, LargestSums* largest) {
  all_gradients<double>(g, mods, largest);
}

void gradients_plain_float(const GradientProblem& g, const ScoreMods64& mods) {
  all_gradients<float>(g, mods);
}

}  // namespace qkv::reference
