#include "problem/overlap.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>

namespace qkv {
namespace {

// coefficient * x with 0 <= x <= bound.
struct Term {
  std::int64_t coefficient;
  std::int64_t bound;
};

// Two views of rank 4 and their element sizes make 10 at most; g++ 12 takes std::sort's fixed step
// of 16 for an access beyond a smaller array.
constexpr int kMaxTerms = 16;

struct Interval {
  std::int64_t low, high;  // addresses of the first and the last byte
};

// The bytes a view spans, and its strides as non-negative terms counted from the lowest byte.
Interval byte_terms(const TensorView& view, Term* terms, int& count) {
  const auto size = static_cast<std::int64_t>(size_of(view.dtype));
  const auto base = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(view.data));
  Interval interval{base, base + size - 1};
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.extents[axis] <= 1 || view.strides[axis] == 0) continue;
    const std::int64_t step = view.strides[axis] * size;
    const std::int64_t reach = step * (view.extents[axis] - 1);
    (reach < 0 ? interval.low : interval.high) += reach;
    terms[count++] = {std::abs(step), view.extents[axis] - 1};
  }
  if (size > 1) terms[count++] = {1, size - 1};
  return interval;
}

void sort_descending(Term* terms, int count) {
  std::sort(terms, terms + count,
            [](const Term& x, const Term& y) { return x.coefficient > y.coefficient; });
}

// Is there a choice of the x with sum of coefficient * x == target? Terms sorted with the largest
// coefficient first; `steps` bounds the search. Depth-first, largest coefficient first, pruned by
// what the rest can reach and by its greatest common divisor.
bool solvable(const Term* terms, int count, std::int64_t target, int& steps) {
  if (target == 0) return true;
  if (count == 0 || target < 0) return false;
  if (--steps <= 0) return true;
  std::int64_t divisor = 0, rest = 0;
  for (int i = 0; i < count; ++i) divisor = std::gcd(divisor, terms[i].coefficient);
  if (target % divisor != 0) return false;
  for (int i = 1; i < count; ++i) rest += terms[i].coefficient * terms[i].bound;
  const auto [coefficient, bound] = terms[0];
  const std::int64_t most = std::min(bound, target / coefficient);
  const std::int64_t least =
      target > rest ? (target - rest + coefficient - 1) / coefficient : std::int64_t{0};
  for (std::int64_t x = most; x >= least; --x) {
    if (solvable(terms + 1, count - 1, target - x * coefficient, steps)) return true;
  }
  return false;
}

}  // namespace

bool overlap(const TensorView& a, const TensorView& b) {
  if (!a.defined() || !b.defined() || a.size() == 0 || b.size() == 0) return false;
  Term terms[kMaxTerms];
  int count = 0;
  const Interval of_a = byte_terms(a, terms, count);
  const Interval of_b = byte_terms(b, terms, count);
  if (of_a.high < of_b.low || of_b.high < of_a.low) return false;
  // Byte low_a + sum(x) meets byte low_b + sum(y). With y' = bound - y on b's terms, all terms are
  // positive and sum to high_b - low_a.
  const std::int64_t target = of_b.high - of_a.low;
  sort_descending(terms, count);
  // Terms of one coefficient are one term: interleaved slices of a buffer have the same strides.
  int distinct = 0;
  for (int i = 1; i < count; ++i) {
    if (terms[i].coefficient == terms[distinct].coefficient) {
      terms[distinct].bound += terms[i].bound;
    } else {
      terms[++distinct] = terms[i];
    }
  }
  count = std::min(count, distinct + 1);
  int steps = 100'000;
  return solvable(terms, count, target, steps);
}

bool overlaps_itself(const TensorView& view) {
  if (view.size() == 0) return false;
  Term axes[kMaxTerms];
  int count = 0;
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.extents[axis] > 1) {
      axes[count++] = {std::abs(view.strides[axis]), view.extents[axis] - 1};
    }
  }
  sort_descending(axes, count);
  if (count > 0 && axes[count - 1].coefficient == 0) return true;
  // Two elements meet if sum(coefficient * d) == 0 for some differences |d| <= bound that are not
  // all 0. Let d of axis `first` be the first one that is not 0, and above 0. With bound - d there
  // and bound + d on the axes after it all terms are positive.
  for (int first = 0; first < count; ++first) {
    Term terms[kMaxTerms];
    int number = 0;
    std::int64_t target = 0;
    for (int axis = first; axis < count; ++axis) {
      const auto [coefficient, bound] = axes[axis];
      terms[number++] = {coefficient, axis == first ? bound - 1 : 2 * bound};
      target += coefficient * bound;
    }
    int steps = 100'000;
    if (solvable(terms, number, target, steps)) return true;
  }
  return false;
}

}  // namespace qkv
