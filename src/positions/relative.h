// T5's bias of relative positions, checked and written.
#ifndef QKV_POSITIONS_RELATIVE_H_
#define QKV_POSITIONS_RELATIVE_H_

#include <cstdint>
#include <optional>

#include "qkv/positions.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv {

Status check_buckets(const RelativeBuckets& buckets);
Status find_bucket(std::int64_t distance, const RelativeBuckets& buckets, std::int64_t& bucket);

// The pairs of a bias: a query i at i + offset, a key j at j.
struct RelativePairs {
  std::int64_t queries, keys, offset;
  // Their distances are first() to first() + count() - 1.
  std::int64_t first() const { return 1 - queries - offset; }
  std::int64_t count() const { return queries == 0 || keys == 0 ? 0 : queries + keys - 1; }
};
// The offset is keys - queries unless it is given.
Status make_pairs(std::int64_t queries, std::int64_t keys,
                  const std::optional<std::int64_t>& query_offset, RelativePairs& pairs);

// table[bucket][h] for each distance of the pairs, as float32 numbers [heads, count] with
// `numbers`, which must have that many.
Status check_relative_table(const TensorView& table, const RelativeBuckets& buckets);
Status fill_relative_bias(const TensorView& table, const RelativePairs& pairs,
                          const RelativeBuckets& buckets, float* numbers);
// [heads, queries, keys], read from those numbers.
MutableTensorView toeplitz(float* numbers, std::int64_t heads, const RelativePairs& pairs);

// d_table from d_bias.
Status fill_relative_gradient(const TensorView& d_bias, const RelativeBuckets& buckets,
                              const std::optional<std::int64_t>& query_offset,
                              const MutableTensorView& d_table);

}  // namespace qkv

#endif  // QKV_POSITIONS_RELATIVE_H_
