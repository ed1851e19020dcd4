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

// A key that takes part: its dot product, final score and exp(s - m'), with the m' of its block.
struct LiveKey {
  std::int64_t j;
  float t, s, exp;
};

// One block of keys joining the state of its span (rule 3).
struct Block {
  KeyRange keys;  // those the row may see
  std::int64_t span;
  std::vector<LiveKey> live;
  float m_before;  // of its span
  RowState sums;   // m', L and B of these keys alone
  float a;         // exp(m - m'); 1 for the first live block of a span, and without a live key
};

// Hears each step of a row as it is done, in the contract's order. Changes nothing.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void block(const Block& block, const RowState& after) = 0;
  // Nodes x, of the spans [first, middle), and y, of [middle, end), both with keys the row may see.
  virtual void merged(std::int64_t first, std::int64_t middle, std::int64_t end, const RowState& x,
                      const RowState& y, const RowState& both) = 0;
  virtual void sink(const RowState& keys, float sink, const RowState& both) = 0;
};

// Row i of query head `head` over the keys [begin, end) that it may see.
RowState row_state(const Problem& p, const Sequence& sequence, std::int64_t head, std::int64_t i,
                   KeyRange keys, Observer* observer = nullptr);

RowState merge(const RowState& x, const RowState& y);

// The row's state over all keys, sink included. A row beyond the live queries has the empty one.
RowState final_state(const Problem& p, const Sequence& sequence, std::int64_t head, std::int64_t i,
                     Observer* observer = nullptr);

// What a final state says (rule 6): an element of `out` before dropout's factor, LSE, and the
// weight of a live key.
float out_of(const RowState& state, std::int64_t column);
float lse_of(const RowState& state);
float weight_of(const RowState& state, float s);

// Fills out, lse and weights, as far as they are present. The problem is validated and not float64.
void attention(const Problem& p);

// out [.., M, N] = a [.., M, K] times b [.., K, N], all rank 4 with equal leading extents.
void matmul(const TensorView& a, const TensorView& b, const MutableTensorView& out);

// out [.., M, N] = the sum over rows of a [.., R, M] and b [.., R, N]: blocks, spans and the tree.
void matmul_over_rows(const TensorView& a, const TensorView& b, const MutableTensorView& out);

}  // namespace qkv::exact

#endif  // QKV_KERNELS_EXACT_EXACT_H_
