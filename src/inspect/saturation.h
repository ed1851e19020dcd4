// How much a row's weights still move when its scores do.
#ifndef QKV_INSPECT_SATURATION_H_
#define QKV_INSPECT_SATURATION_H_

#include <span>

#include "qkv/status.h"

namespace qkv {

Status compute_jacobian_norm(std::span<const float> weights, double sink_weight, double& norm);

}  // namespace qkv

#endif  // QKV_INSPECT_SATURATION_H_
