// How much a row's weights still move when its scores do.
#ifndef QKV_SATURATION_H_
#define QKV_SATURATION_H_

#include <span>

#include "qkv/error.h"

namespace qkv {

// The Frobenius norm of the softmax's Jacobian, J = diag(p) - p p^T with J_ij = dp_i / ds_j, of one
// row of weights p as `weights` of attention() has them. sqrt(r - 1) / r if r keys share the weight
// evenly; 0 if one has it all, and small as soon as one has nearly all: the row is saturated, and
// no change of query or keys moves its result.
//
// A sink takes a share of the row, exp(sink - lse); pass it as `sink_weight`. Its own derivatives
// do not count. What is missing from a sum of 1 besides is taken for rounding: 1 - p_i is the sum
// of the other weights, which is right to the last digits when p_i is almost 1, as 1 - p_i is not.
//
// Weights must lie between 0 and 1 (else InvalidArgument), NaN is refused.
double softmax_jacobian_norm(std::span<const float> weights, double sink_weight = 0);

}  // namespace qkv

#endif  // QKV_SATURATION_H_
