#include "inspect/saturation.h"

#include "boundary.h"
#include "convert.h"
#include "qkv_learn.h"

using qkv::Status;
using namespace qkv::c;

qkv_status qkv_softmax_jacobian_norm(const float* weights, int64_t count, double sink_weight,
                                     double* norm) {
  return guarded([&]() -> Status {
    if (norm == nullptr) return null_argument("norm");
    std::span<const float> row;
    if (Status s = to_span("weights", weights, count, row); !s.ok()) return s;
    return qkv::compute_jacobian_norm(row, sink_weight, *norm);
  });
}
