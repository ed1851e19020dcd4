// How a matrix product is done.
#ifndef QKV_PLAN_PRODUCT_H_
#define QKV_PLAN_PRODUCT_H_

#include <atomic>
#include <vector>

#include "qkv/options.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv {

// The shape of a times b; kInvalidArgument if they don't fit.
Status infer_product_shape(const TensorView& a, const TensorView& b,
                           std::vector<std::int64_t>& shape);

// `stop`, if not null, ends the run like a cancelled one.
Status run_product(const TensorView& a, const TensorView& b, const MutableTensorView& out,
                   const ExecutionOptions& execution, const std::atomic<bool>* stop = nullptr);

// The same of a transposed times b, as a sum over their rows.
Status infer_product_over_rows_shape(const TensorView& a, const TensorView& b,
                                     std::vector<std::int64_t>& shape);
Status run_product_over_rows(const TensorView& a, const TensorView& b, const MutableTensorView& out,
                             const ExecutionOptions& execution,
                             const std::atomic<bool>* stop = nullptr);

}  // namespace qkv

#endif  // QKV_PLAN_PRODUCT_H_
