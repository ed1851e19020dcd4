// Attention in pieces: states over parts of the keys that merge to the bits of one call.
#ifndef QKV_STATE_H_
#define QKV_STATE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "qkv/attention.h"

namespace qkv {

// The running softmax of every query row over a range of keys: a maximum m, a sum l and a weighted
// sum O of values a row, one such triple for each node of the tree of spans that the range fills.
// Pieces may be computed on different threads or machines, in any order, and merged in any order
// of neighbours: the finished result has the bits of one call over all keys.
class State {
 public:
  // The state of `inputs.query` over the keys in `inputs.key`, which are keys first_key, first_key
  // + 1, ... of each sequence. first_key must be a multiple of contract().span. A piece that is not
  // the last must hold a multiple of span keys too. Options that use positions need query_offset.
  // Sinks belong to finish(); packed sequences and query_lengths are
  // refused (Unsupported), since a state has one length of queries.
  static State of(const AttentionInputs& inputs, std::int64_t first_key,
                  const AttentionOptions& options = {}, const ExecutionOptions& execution = {});

  std::int64_t first_key() const;
  std::int64_t end_key() const;  // one past the last key

  // Joins a state of the same rows over the keys right before or right after this one's.
  // InvalidArgument if rows or d_v differ, or the ranges are not neighbours on a span edge.
  void merge(const State& other);

  // out [B, Hq, Lq, d_v] (rank as the query had) and lse; either may be absent. `sinks`: as in
  // AttentionOptions.
  void finish(const AttentionOutputs& outputs, std::span<const float> sinks = {}) const;

  // For sending: a self-describing array of bytes, the same on every machine.
  std::vector<std::byte> serialize() const;
  static State deserialize(std::span<const std::byte> bytes);

  State();
  ~State();
  State(const State&);
  State(State&&) noexcept;
  State& operator=(const State&);
  State& operator=(State&&) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace qkv

#endif  // QKV_STATE_H_
