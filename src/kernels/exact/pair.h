// One pair of a query row and a key: its score, and whether it takes part (rules 1 and 2).
#ifndef QKV_KERNELS_EXACT_PAIR_H_
#define QKV_KERNELS_EXACT_PAIR_H_

#include <cstdint>

#include "problem/problem.h"

namespace qkv::exact {

inline constexpr std::int64_t kGroup = 32, kBlock = 32, kSpan = 1024;

// One pair of a query row and a key.
struct Pair {
  const Problem& p;
  const Sequence& sequence;
  std::int64_t head, i, position, j;

  std::int64_t query_row() const { return sequence.query_begin + i; }
  std::int64_t key_row() const { return sequence.key_row(j); }
};

// Rule 1, first half. The terms are a[i * step_a] * b[i * step_b], counted from the given offsets.
float dot(const TensorView& a, std::int64_t offset_a, std::int64_t step_a, const TensorView& b,
          std::int64_t offset_b, std::int64_t step_b, std::int64_t terms);

float query_times_key(const Pair& at);

// The score that a dot product t gives: as softcap leaves it, and the final one.
float capped(const Pair& at, float t);
float score(const Pair& at, float t);

// Rule 2, as far as it is not decided by visible_keys() or by the score.
bool masked(const Pair& at);

// Does dropout, if there is any, leave the pair in the weighted sum?
bool kept(const Problem& p, const Sequence& sequence, std::int64_t head, std::int64_t position,
          std::int64_t j);

}  // namespace qkv::exact

#endif  // QKV_KERNELS_EXACT_PAIR_H_
