// Which bits are right: contract A as a scalar program, one query row at a time. No tiles, no SIMD,
// never tuned; docs/arithmetic.md in code. Golden hashes come from here alone, and every kernel
// equals it by memcmp.
#ifndef QKV_KERNELS_EXACT_EXACT_H_
#define QKV_KERNELS_EXACT_EXACT_H_

#include <cstdint>
#include <vector>

#include "problem/problem.h"

namespace qkv::exact {

// The running softmax of one row over some keys. Empty iff l == 0.
struct RowState {
  float m;
  float l;
  std::vector<float> o;  // [d_v]
};

// Row i of query head `head` over the keys [begin, end) that it may see.
RowState row_state(const Problem& p, const Sequence& sequence, std::int64_t head, std::int64_t i,
                   KeyRange keys);

RowState merge(const RowState& x, const RowState& y);

// Fills out, lse and weights, as far as they are present. The problem is validated and not float64.
void attention(const Problem& p);

// out [.., M, N] = a [.., M, K] times b [.., K, N], all rank 4 with equal leading extents.
void matmul(const TensorView& a, const TensorView& b, const MutableTensorView& out);

}  // namespace qkv::exact

#endif  // QKV_KERNELS_EXACT_EXACT_H_
