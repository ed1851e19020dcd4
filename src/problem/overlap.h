// Do two strided views share a byte?
#ifndef QKV_PROBLEM_OVERLAP_H_
#define QKV_PROBLEM_OVERLAP_H_

#include "qkv/tensor.h"

namespace qkv {

// True if they do. Exact for ordinary layouts, slices of one interleaved buffer among them; where
// deciding would take more than some 10^5 steps it says true.
bool overlap(const TensorView& a, const TensorView& b);

// True if two elements of the view may lie in the same place (a stride of 0, say).
bool overlaps_itself(const TensorView& view);

}  // namespace qkv

#endif  // QKV_PROBLEM_OVERLAP_H_
