#include "qkv/saturation.h"

#include "inspect/saturation.h"

namespace qkv {

double softmax_jacobian_norm(std::span<const float> weights, double sink_weight) {
  double norm = 0;
  throw_if_error(compute_jacobian_norm(weights, sink_weight, norm));
  return norm;
}

}  // namespace qkv
