// Checks that inputs and outputs share.
#ifndef QKV_PROBLEM_CHECKS_H_
#define QKV_PROBLEM_CHECKS_H_

#include <span>

#include "problem/problem.h"

namespace qkv {

// Rank, extents and reach of one tensor by itself; `name` is the argument's.
Status check_view(const char* name, const TensorView& view);

// The outputs of a problem whose inputs are already in normal form.
Status check_outputs(Problem& p);

// Is the pointer null although the tensor has elements?
Status check_pointer(const char* name, const TensorView& view);

// Sinks for `heads` query heads; none at all is fine.
Status check_sinks(std::span<const float> sinks, std::int64_t heads);

// [..., L] read as [..., L, 1].
inline MutableTensorView with_unit_axis(MutableTensorView view) {
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
