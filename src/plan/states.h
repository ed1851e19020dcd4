// States of all query rows over a piece of the keys, kept as nodes of the contract's tree.
#ifndef QKV_PLAN_STATES_H_
#define QKV_PLAN_STATES_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "problem/problem.h"

namespace qkv {

// Spans [first, end): a power of two of them, starting at a multiple of their number, so that no
// state of the tree lies across its border.
struct StateNode {
  std::int64_t first_span, end_span;
  std::vector<float> states;  // [B * Hq * Lq][state_stride(d_v)]
};

struct States {
  int rank = 4;  // of the query they come from
  std::int64_t batch = 0, heads = 0, queries = 0, d_v = 0;
  std::int64_t first_key = 0, end_key = 0;
  std::vector<StateNode> nodes;  // by rising spans

  std::int64_t rows() const { return batch * heads * queries; }
};

// Fills `states` with those over keys that begin at `first_key`. `stop`, if not null, ends the run
// like a cancelled one.
Status compute_states(const AttentionInputs& inputs, std::int64_t first_key,
                      const AttentionOptions& options, const ExecutionOptions& execution,
                      const std::atomic<bool>* stop, States& states);

// Joins `other`, whose keys lie right before or right after those of `states`.
Status merge_states(States& states, const States& other);

// Writes the results; outputs are checked, absent ones skipped.
Status finish_states(const States& states, const AttentionOutputs& outputs,
                     std::span<const float> sinks);

}  // namespace qkv

#endif  // QKV_PLAN_STATES_H_
