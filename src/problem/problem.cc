#include "problem/problem.h"

#include <cmath>

namespace qkv {

Sequence Problem::sequence(std::int64_t b) const {
  Sequence s{};
  s.index = b;
  if (packed()) {
    s.query_begin = options.query_cu_seqlens[b];
    s.query_rows = s.queries = options.query_cu_seqlens[b + 1] - s.query_begin;
    s.key_begin = options.key_cu_seqlens[b];
    s.end_key = options.key_cu_seqlens[b + 1] - s.key_begin;
  } else {
    s.buffer = b;
    s.query_rows = queries();
    s.queries = options.query_lengths.empty() ? queries() : options.query_lengths[b];
    s.key_begin = options.key_begin.empty() ? 0 : options.key_begin[b];
    s.end_key = options.key_lengths.empty() ? keys() - s.key_begin : options.key_lengths[b];
  }
  s.first_key = first_key;
  s.end_key += first_key;
  const std::vector<std::int64_t>& offsets = options.query_offset;
  if (!offsets.empty()) {
    s.offset = offsets.size() == 1 ? offsets[0] : offsets[b];
  } else if (options.alignment == Alignment::kBottomRight) {
    s.offset = s.end_key - s.queries;
  }
  return s;
}

Sequence Problem::sequence_of_row(std::int64_t buffer, std::int64_t row) const {
  if (!packed()) return sequence(buffer);
  const std::vector<std::int64_t>& ends = options.query_cu_seqlens;
  const auto after = std::upper_bound(ends.begin(), ends.end(), row);
  return sequence(after - ends.begin() - 1);
}

KeyRange Problem::visible_keys(const Sequence& sequence, std::int64_t position) const {
  KeyRange range{sequence.first_key, sequence.end_key};
  if (options.causal) range.end = std::min(range.end, position + 1);
  // validate() bounds positions and windows by 2^61, so that these sums can't overflow.
  if (options.window.left) range.begin = std::max(range.begin, position - *options.window.left);
  if (options.window.right) range.end = std::min(range.end, position + *options.window.right + 1);
  range.end = std::max(range.end, range.begin);
  return range;
}

std::vector<float> alibi_slopes(std::int64_t heads) {
  std::vector<float> slopes;
  if (heads <= 0) return slopes;
  slopes.reserve(static_cast<std::size_t>(heads));
  // 2^(-8 h / n) for a power of two n: the whole part of the exponent exactly, the binary fraction
  // by repeated square roots of 1/2, which IEEE 754 rounds correctly.
  const auto power_of_two_slope = [](std::int64_t h, std::int64_t n) {
    std::int64_t numerator = 8 * h;
    double slope = 1;
    for (; numerator >= n; numerator -= n) slope *= 0.5;
    double root = 0.5;
    for (; numerator != 0; numerator %= n) {
      root = std::sqrt(root);
      numerator *= 2;
      if (numerator >= n) slope *= root;
    }
    return static_cast<float>(slope);
  };
  std::int64_t below = 1;
  while (below <= heads / 2) below *= 2;
  for (std::int64_t h = 1; h <= below; ++h) slopes.push_back(power_of_two_slope(h, below));
  for (std::int64_t h = 1; static_cast<std::int64_t>(slopes.size()) < heads; h += 2) {
    slopes.push_back(power_of_two_slope(h, 2 * below));
  }
  return slopes;
}

}  // namespace qkv
