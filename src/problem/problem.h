// What is asked: tensors, mask and options in one normal form, after validate() found them good.
#ifndef QKV_PROBLEM_PROBLEM_H_
#define QKV_PROBLEM_PROBLEM_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "qkv/attention.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv {

// Of positions, offsets, window ends and keys: their sums and differences fit int64.
inline constexpr std::int64_t kMaxPosition = std::int64_t{1} << 61;

// One sequence of the batch: where its live queries and keys lie in the buffers.
struct Sequence {
  std::int64_t index;        // b, as callbacks see it
  std::int64_t buffer;       // first index into query, key, value, out (0 if packed)
  std::int64_t query_begin;  // row of the query i = 0
  std::int64_t query_rows;   // rows to write, dead ones included
  std::int64_t queries;      // live queries, i < queries
  std::int64_t key_begin;    // row of the key j = first_key
  std::int64_t first_key;    // j of the first live key here
  std::int64_t end_key;      // one past the last live key
  std::int64_t offset;       // p(i) = i + offset

  std::int64_t position(std::int64_t i) const { return i + offset; }
  std::int64_t key_row(std::int64_t j) const { return key_begin + (j - first_key); }
};

struct KeyRange {
  std::int64_t begin, end;  // [begin, end); empty if begin >= end
};

// What is written of each query row; any may be absent. [B, Hq, Lq, d_v], the others [B, Hq, Lq,
// 1].
struct RowResults {
  MutableTensorView out, lse, row_max, row_sum;
  float out_factor = 1;  // out is multiplied by it at the end

  bool any() const {
    const auto asked = [](const MutableTensorView& view) {
      return view.defined() && view.size() > 0;
    };
    return asked(out) || asked(lse) || asked(row_max) || asked(row_sum);
  }
};

struct Problem {
  // As the caller gave it.
  AttentionInputs inputs;
  AttentionOutputs outputs;
  AttentionOptions options;
  std::int64_t first_key = 0;  // j of the key buffer's first key: not 0 for a piece of the keys

  // Filled by validate(). All rank 4; absent tensors stay absent.
  TensorView query, key, value;  // [B, H, L, d]; packed: [1, H, total, d]
  MutableTensorView out;         // [B, Hq, Lq, d_v]
  MutableTensorView lse;         // [B, Hq, Lq, 1]
  MutableTensorView row_max;     // [B, Hq, Lq, 1]
  MutableTensorView row_sum;     // [B, Hq, Lq, 1]
  MutableTensorView weights;     // [B, heads, rows, Lk]
  TensorView mask, bias;         // broadcast to [B, Hq, Lq, Lk] by strides of 0
  std::int64_t sequences = 0;
  double scale64 = 1;  // not rounded: for float64
  float scale = 1;
  std::uint64_t dropout_threshold = 0;  // pairs whose random word is less are dropped
  float dropout_factor = 1;             // of the result: 1 / (1 - probability), 0 for 1

  RowResults row_results() const { return {out, lse, row_max, row_sum, dropout_factor}; }
  bool has_dropout() const { return options.dropout.has_value(); }
  // Word 3 of the random counter of a sequence's pairs.
  std::int64_t dropout_stream(const Sequence& sequence) const {
    const std::vector<std::int64_t>& streams = options.dropout->streams;
    return streams.empty() ? sequence.index : streams[sequence.index];
  }
  bool packed() const { return !options.query_cu_seqlens.empty(); }
  bool is_float64() const { return query.dtype == DType::kFloat64; }
  std::int64_t query_heads() const { return query.extents[1]; }
  std::int64_t key_heads() const { return key.extents[1]; }
  std::int64_t group() const { return key_heads() == 0 ? 1 : query_heads() / key_heads(); }
  std::int64_t queries() const { return query.extents[2]; }
  std::int64_t keys() const { return key.extents[2]; }
  std::int64_t d_qk() const { return query.extents[3]; }
  std::int64_t d_v() const { return value.extents[3]; }
  std::int64_t key_head(std::int64_t query_head) const { return query_head / group(); }

  Sequence sequence(std::int64_t b) const;
  // The sequence that owns row `row` of the query buffer of batch entry `buffer`.
  Sequence sequence_of_row(std::int64_t buffer, std::int64_t row) const;
  // Keys that lengths, causality and window leave to the query at position p.
  KeyRange visible_keys(const Sequence& sequence, std::int64_t position) const;
};

// Checks everything and fills the normal form. Nothing is computed or written.
Status validate(Problem& problem);

// The part of validate() that depends on addresses: outputs overlap neither inputs, nor each other,
// nor themselves; no tensor with elements has a null pointer. Allocates nothing unless it fails.
Status validate_memory(const Problem& problem);

// Where a problem's tensors lie.
struct Memory {
  const void *query, *key, *value;
  void *out, *lse, *row_max, *row_sum, *weights;
};
Memory memory_of(const Problem& problem);
void set_memory(Problem& problem, const Memory& memory);

// Replaces the tensors by others of the same types, shapes and strides, as a plan is run on new
// memory. kInvalidArgument, naming the tensor, if they
// differ or validate_memory() refuses them; the problem is as it was then.
Status rebind(Problem& problem, const AttentionInputs& inputs, const AttentionOutputs& outputs);

// For outputs that the library allocates.
Status infer_output_shape(const AttentionInputs& inputs, const AttentionOptions& options,
                          std::vector<std::int64_t>& shape);

}  // namespace qkv

#endif  // QKV_PROBLEM_PROBLEM_H_
