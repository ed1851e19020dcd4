// Arrays of sums over spans, added up as the contract's tree says: x + y, element by element.
#ifndef QKV_PLAN_SUM_FOLD_H_
#define QKV_PLAN_SUM_FOLD_H_

#include <algorithm>
#include <cstdint>

#include "kernels/attention/tree_fold.h"

namespace qkv {

class SumFold {
 public:
  // Room for at_most() arrays of `size` floats.
  SumFold(float* memory, std::int64_t size) : memory_(memory), size_(size) {}

  // Arrays that wait at once, at most, when neighbouring spans begin at `first` and there are
  // `spans` of them. From 0 on, one waits for each bit that is set in the number of a span.
  static std::int64_t at_most(std::int64_t first, std::int64_t spans) {
    if (spans <= 1) return 1;
    if (first != 0) return std::min(spans, TreeFold::states_at_most(spans));
    return std::bit_width(static_cast<std::uint64_t>(spans - 1)) + 1;
  }

  void restart() { fold_ = TreeFold(); }

  // The array of `span`, zeros, after those before it were added as far as the tree says.
  float* start(std::int64_t span) {
    for (int n = fold_.merges_before(span), top = fold_.depth() - 1; n > 0; --n, --top) {
      add(array(top - 1), array(top));
    }
    fold_.push(span, span);
    float* top = array(fold_.depth() - 1);
    std::fill(top, top + size_, 0.0f);
    return top;
  }

  // The sum of all; zeros if there were none.
  float* finish() {
    for (int top = fold_.depth() - 1; top > 0; --top) add(array(top - 1), array(top));
    if (fold_.depth() == 0) std::fill(memory_, memory_ + size_, 0.0f);
    return memory_;
  }

 private:
  float* array(int n) const { return memory_ + n * size_; }
  void add(float* x, const float* y) const {
    for (std::int64_t n = 0; n < size_; ++n) x[n] = x[n] + y[n];
  }

  float* memory_;
  std::int64_t size_;
  TreeFold fold_;
};

// The sum of term(i) over the queries of a sequence: blocks, spans and the tree.
template <class Term>
float sum_over_rows(std::int64_t queries, Term term) {
  float memory[TreeFold::kMaxDepth];
  SumFold sums(memory, 1);
  float* of_span = nullptr;
  float block = 0.0f;
  for (std::int64_t i = 0; i < queries; ++i) {
    if (i % kSpan == 0) of_span = sums.start(i / kSpan);
    block = block + term(i);
    if ((i + 1) % kBlock == 0 || i + 1 == queries) {
      *of_span = *of_span + block;
      block = 0.0f;
    }
  }
  return *sums.finish();
}

}  // namespace qkv

#endif  // QKV_PLAN_SUM_FOLD_H_
