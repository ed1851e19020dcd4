// Sums over keys or rows in the contract's order: blocks, spans, tree.
#ifndef QKV_KERNELS_EXACT_TREE_SUM_H_
#define QKV_KERNELS_EXACT_TREE_SUM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/exact/pair.h"

namespace qkv::exact {

using Sums = std::vector<float>;

inline void add(Sums& x, const Sums& y) {
  for (std::size_t c = 0; c < x.size(); ++c) x[c] = x[c] + y[c];
}

// A sum over the terms [begin, end): blocks of 32 from +0, added in order from +0 to their span,
// spans added as the contract's binary tree. `add_term(n, B)` adds term n to a block's sums. With
// several of them, each block has a sum of each, which are added to the span one after the other.
template <class... AddTerm>
Sums tree_sum(std::int64_t begin, std::int64_t end, std::int64_t first_span, std::int64_t spans,
              std::size_t width, const AddTerm&... add_term) {
  Sums sum(width, 0.0f);
  begin = std::max(begin, first_span * kSpan);
  end = std::min(end, (first_span + spans) * kSpan);
  if (begin >= end) return sum;
  if (spans > 1) {
    sum = tree_sum(begin, end, first_span, spans / 2, width, add_term...);
    add(sum, tree_sum(begin, end, first_span + spans / 2, spans / 2, width, add_term...));
    return sum;
  }
  for (std::int64_t block = begin / kBlock; block * kBlock < end; ++block) {
    const std::int64_t last = std::min(end, (block + 1) * kBlock);
    const auto add_block = [&](const auto& add_to_block) {
      Sums b(width, 0.0f);
      for (std::int64_t n = std::max(begin, block * kBlock); n < last; ++n) add_to_block(n, b);
      add(sum, b);
    };
    (add_block(add_term), ...);
  }
  return sum;
}

template <class... AddTerm>
Sums tree_sum(std::int64_t begin, std::int64_t end, std::int64_t width,
              const AddTerm&... add_term) {
  std::int64_t spans = 1;
  while (spans * kSpan < end) spans *= 2;
  return tree_sum(begin, end, 0, spans, static_cast<std::size_t>(width), add_term...);
}

}  // namespace qkv::exact

#endif  // QKV_KERNELS_EXACT_TREE_SUM_H_
