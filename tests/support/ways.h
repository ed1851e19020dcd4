// The ways in which one problem can be computed. All must give the same bits.
#ifndef QKV_TESTS_SUPPORT_WAYS_H_
#define QKV_TESTS_SUPPORT_WAYS_H_

#include "problem/problem.h"
#include "support/caller_environment.h"

namespace qkv::test {

enum class Way {
  kBatch,   // one call
  kAlone,   // each sequence by itself, its padding cut off
  kChunks,  // each sequence in chunks of queries of uneven sizes
  kRows,    // one query row at a time, as in decoding
  kStates,  // keys in pieces of whole spans, states merged in a random order, sent as bytes
};
inline constexpr Way kWays[] = {Way::kBatch, Way::kAlone, Way::kChunks, Way::kRows, Way::kStates};
const char* name_of(Way way);

// Fills the problem's outputs that way, with the caller in `mode`. False if a call left the mode
// changed.
bool compute(const Problem& p, Way way, const ExecutionOptions& execution, CallerMode mode,
             std::uint64_t seed);

}  // namespace qkv::test

#endif  // QKV_TESTS_SUPPORT_WAYS_H_
