// Attention: softmax(Q K^T / sqrt(d_k)) V, exact, in O(n) memory, with the same bits everywhere.
//
//   std::vector<float> q(...), k(...), v(...);
//   qkv::AttentionOptions options;
//   options.causal = true;
//   qkv::Tensor out = qkv::attention({{q.data(), {1, 8, 512, 64}},
//                                     {k.data(), {1, 8, 512, 64}},
//                                     {v.data(), {1, 8, 512, 64}}}, options);
#ifndef QKV_ATTENTION_H_
#define QKV_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "qkv/contract.h"
#include "qkv/error.h"
#include "qkv/options.h"
#include "qkv/tensor.h"

namespace qkv {

// Rank 4: query [B, Hq, Lq, d_qk], key [B, Hkv, Lk, d_qk], value [B, Hkv, Lk, d_v]; rank 3 drops B,
// rank 2 also the heads; packed sequences have their own shapes (AttentionOptions). Any strides.
// Query head h reads key head floor(h * Hkv / Hq); Hq must be a multiple of Hkv.
// float32, float16 and bfloat16, also mixed, are computed in float32 (contract A); three float64
// tensors in float64 by plain loops (some 200 times slower).
struct AttentionInputs {
  TensorView query, key, value;
};

// Attention weights of chosen heads and rows. Size: B * heads * rows * Lk elements.
struct WeightsSelection {
  std::vector<std::int64_t> heads;  // query heads; empty: all
  std::vector<std::int64_t> rows;   // rows of `query` (of the packed buffer if packed); empty: all
};

struct AttentionOutputs {
  // query's shape with d_v for d_qk, in float32 or a type of the inputs. May be absent.
  MutableTensorView out;
  // [B, Hq, Lq] float32 (or float64 for float64 inputs): natural log of the sum of exp(s) over the
  // live keys and the sink; -inf for a row with neither. May be absent.
  MutableTensorView lse;
  // [B, Hq, Lq] as lse: the largest live score, sink included (-inf for a row with neither), and
  // the sum of exp(s - row_max) over the same (0 for such a row). What gradients start from: see
  // qkv/gradient.h. May be absent.
  MutableTensorView row_max, row_sum;
  // [B, heads, rows, Lk] (packed: [heads, rows, total_k]), leading dimensions dropped as in
  // `query`; hidden keys have weight 0. Columns are rows of the key buffer. May be absent.
  MutableTensorView weights;
  WeightsSelection selection;
};

// The output's shape for these inputs. Throws InvalidArgument for inputs that don't fit.
std::vector<std::int64_t> output_shape(const AttentionInputs& inputs,
                                       const AttentionOptions& options = {});

// Computes and returns `out` in query's type. Throws InvalidArgument (nothing was computed),
// Unsupported, OutOfMemory, Cancelled, or what a callback threw.
Tensor attention(const AttentionInputs& inputs, const AttentionOptions& options = {},
                 const ExecutionOptions& execution = {});

// Computes into the caller's memory. Outputs must not overlap inputs, each other or themselves.
void attention(const AttentionInputs& inputs, const AttentionOutputs& outputs,
               const AttentionOptions& options = {}, const ExecutionOptions& execution = {});

// What a plan decided, for people and tools.
struct PlanDescription {
  std::string kernel;  // "avx512, tiles of 48 queries x 32 keys", ...
  Isa isa;
  int threads;                  // at most this many run
  std::int64_t tasks;           // independent pieces of work
  std::int64_t rows_per_tile;   // query rows that share one pass over the keys
  std::size_t workspace_bytes;  // beyond inputs and outputs
  std::size_t weights_bytes;    // of the weights asked for
};

// Attention planned once and run many times: the second run allocates nothing.
class AttentionPlan {
 public:
  // Validates and plans. Copies the options; the tensors' memory must live for run().
  AttentionPlan(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                const AttentionOptions& options = {}, const ExecutionOptions& execution = {});
  ~AttentionPlan();
  AttentionPlan(AttentionPlan&&) noexcept;
  AttentionPlan& operator=(AttentionPlan&&) noexcept;

  const PlanDescription& description() const;

  // Runs on the tensors given at planning. Not from two threads at once on one plan.
  void run();
  // The same with a workspace of the caller's, of at least description().workspace_bytes (else
  // InvalidArgument). Any alignment.
  void run(std::span<std::byte> workspace);
  // Runs once on other memory of the same types, shapes and strides, with the same selection (else
  // InvalidArgument).
  void run(const AttentionInputs& inputs, const AttentionOutputs& outputs,
           std::span<std::byte> workspace = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace qkv

#endif  // QKV_ATTENTION_H_
