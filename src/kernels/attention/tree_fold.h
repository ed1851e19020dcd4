// In which order states of spans merge: the contract's binary tree over absolute span indices, with
// absent spans counting as empty states.
#ifndef QKV_KERNELS_ATTENTION_TREE_FOLD_H_
#define QKV_KERNELS_ATTENTION_TREE_FOLD_H_

#include <bit>
#include <cstdint>

#include "simd/faults.h"

namespace qkv {

// A stack machine. States are pushed in the order of their spans; before a push the caller merges
// the top two states of its own stack merges_before() times, and at the end until one is left. A
// state may stand for several spans, first to last, if they are a node of the tree.
//
// Two neighbours on the stack meet at tree level bit_width(last ^ first), the height of their
// lowest common ancestor. The top two merge as soon as the next state meets them higher up.
class TreeFold {
 public:
  static constexpr int kMaxDepth = 64;  // levels strictly fall along the stack: one each, one more

  // States that wait at once, at most, when `spans` neighbouring spans are pushed. Below the level
  // at which the run's two ends meet, one state waits for each level of either half.
  static std::int64_t states_at_most(std::int64_t spans) {
    return std::bit_width(static_cast<std::uint64_t>(spans)) + 2;
  }

  int merges_before(std::int64_t first_span) const {
    if (depth_ < 2) return 0;
#if QKV_FAULT_CODE == QKV_FAULT_MERGE_ORDER
    return depth_ - 1;
#endif
    const int level = meeting_level(last_span_, first_span);
    int merges = 0;
    while (depth_ - merges >= 2 && levels_[depth_ - merges - 1] < level) ++merges;
    return merges;
  }

  void push(std::int64_t first_span, std::int64_t last_span) {
    depth_ -= merges_before(first_span);
    levels_[depth_] = depth_ == 0 ? 0 : meeting_level(last_span_, first_span);
    last_span_ = last_span;
    ++depth_;
  }

  int depth() const { return depth_; }

 private:
  static int meeting_level(std::int64_t a, std::int64_t b) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(a ^ b)));
  }

  int depth_ = 0;
  std::int64_t last_span_ = 0;
  int levels_[kMaxDepth];  // levels_[n]: where states n - 1 and n of the stack meet
};

}  // namespace qkv

#endif  // QKV_KERNELS_ATTENTION_TREE_FOLD_H_
