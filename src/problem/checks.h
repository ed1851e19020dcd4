// Checks that inputs and outputs share.
#ifndef QKV_PROBLEM_CHECKS_H_
#define QKV_PROBLEM_CHECKS_H_

#include <span>

#include "problem/problem.h"

namespace qkv {

// Rank, extents and reach of one tensor by itself; `name` is the argument's.
Status check_view(const char* name, const TensorView& view);

// Is `view` of this shape? The message names query and value, whose shapes decide it.
Status check_shape(const char* name, const TensorView& view, std::span<const std::int64_t> shape,
                   const Problem& p);

// Right-aligned NumPy broadcasting of `view` to the shape of the scores, [B, Hq, Lq, Lk].
Status broadcast_to_scores(const char* name, const TensorView& view, const Problem& p,
                           TensorView& result);

// The outputs of a problem whose inputs are already in normal form.
Status check_outputs(Problem& p);

// Is the pointer null although the tensor has elements?
Status check_pointer(const char* name, const TensorView& view);

struct NamedView {
  const char* name;  // of the argument
  TensorView view;
};

// Outputs overlap neither inputs, nor each other, nor themselves; nothing with elements has a null
// pointer. Allocates nothing unless it fails.
Status check_memory(std::span<const NamedView> inputs, std::span<const NamedView> outputs);

// Sinks for `heads` query heads; none at all is fine.
Status check_sinks(std::span<const float> sinks, std::int64_t heads);

// [..., L] read as [..., L, 1].
template <class View>
View with_unit_axis(View view) {
  view.extents[view.rank] = 1;
  view.strides[view.rank] = 0;
  ++view.rank;
  return view;
}

// Leading dimensions of 1 up to rank 4.
template <class View>
View to_rank4(View view) {
  while (view.rank < kMaxRank) {
    for (int axis = kMaxRank - 1; axis > 0; --axis) {
      view.extents[axis] = view.extents[axis - 1];
      view.strides[axis] = view.strides[axis - 1];
    }
    view.extents[0] = 1;
    view.strides[0] = 0;
    ++view.rank;
  }
  return view;
}

}  // namespace qkv

#endif  // QKV_PROBLEM_CHECKS_H_
