// One query row of attention, step by step: every number between the inputs and the result, as the
// contract makes it (docs/arithmetic.md, whose names are in the comments). For teaching and
// looking.
//
//   qkv::RowSteps steps = qkv::row_steps({query, key, value}, {.row = 3});
//   for (const qkv::KeyStep& key : steps.keys) std::printf("%g -> %g\n", key.score, key.weight);
#ifndef QKV_STEPS_H_
#define QKV_STEPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "qkv/attention.h"
#include "qkv/error.h"
#include "qkv/options.h"

namespace qkv {

// A row of `query`. Packed sequences: batch is 0, and row is that of the packed buffer.
struct RowIndex {
  std::int64_t batch = 0;
  std::int64_t head = 0;  // query head
  std::int64_t row = 0;
};

// The running softmax over some keys: their largest score, and sums relative to it. Without a live
// key -inf, 0 and zeros.
struct SoftmaxState {
  float max = 0;                   // m
  float sum = 0;                   // l
  std::vector<float> accumulator;  // O [d_v]
};

// One key that causality, window and lengths leave to the row. One that mask, mask_mod or a score
// of -inf hides is not live, and its numbers are 0.
struct KeyStep {
  std::int64_t key = 0;  // j, counted from its sequence's first key
  std::int64_t row = 0;  // of the key buffer
  bool live = false;
  float dot = 0;        // t = q . k
  float score = 0;      // s, after scale, softcap, score_mod, ALiBi and bias
  float block_exp = 0;  // exp(s - m'), m' the running maximum after its block
  float weight = 0;     // exp(s - m) / l with the final m and l
};

// One block of keys joining its span: at most 32, those in RowSteps::keys with first_key <= j <
// end_key.
struct BlockStep {
  std::int64_t first_key = 0, end_key = 0;
  std::int64_t span = 0;            // j / 1024. Every span starts anew
  float max_before = 0;             // m, -inf at the start of a span
  float rescale = 0;                // a = exp(m - m'); 1 if there was nothing to rescale
  float block_sum = 0;              // L, the sum of block_exp
  std::vector<float> block_values;  // B [d_v], the sums of block_exp times value
  SoftmaxState after;               // m', l = l a + L, O = O a + B
};

// Two nodes of the tree of spans becoming one. Only those that have keys in RowSteps::keys.
struct MergeStep {
  std::int64_t first_span = 0, middle_span = 0, end_span = 0;  // [first, middle), [middle, end)
  SoftmaxState first, second, merged;
};

struct RowSteps {
  std::int64_t sequence = 0;      // b
  std::int64_t position = 0;      // p, the row's place among the keys
  std::vector<KeyStep> keys;      // by rising j
  std::vector<BlockStep> blocks;  // by rising keys
  std::vector<MergeStep> merges;  // as they are done; one less than there are spans
  SoftmaxState all_keys;          // the last block or merge
  std::optional<float> sink;      // its logit, if there is one
  SoftmaxState final_state;       // all_keys merged with the sink
  std::vector<float> out;         // O / l [d_v]
  float lse = 0;                  // m + log l
};

// The numbers are those of attention(), bit for bit: out, lse and weights in float32. They come
// from the scalar program that the kernels are held to, one key after another: a long row takes
// milliseconds. As in results, zeros are +0 and a NaN is the canonical one. Throws as attention()
// does, and Unsupported for float64.
RowSteps row_steps(const AttentionInputs& inputs, const RowIndex& index,
                   const AttentionOptions& options = {});

}  // namespace qkv

#endif  // QKV_STEPS_H_
