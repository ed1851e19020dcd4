#include "qkv/matmul.h"

#include "api/callbacks.h"
#include "plan/product.h"

namespace qkv {

void matmul(const TensorView& a, const TensorView& b, const MutableTensorView& out,
            const ExecutionOptions& execution) {
  CallbackGuard callbacks;
  ExecutionOptions guarded = execution;
  callbacks.wrap(guarded);
  const Status status = run_product(a, b, out, guarded, callbacks.stop());
  callbacks.rethrow();
  throw_if_error(status);
}

Tensor matmul(const TensorView& a, const TensorView& b, const ExecutionOptions& execution) {
  std::vector<std::int64_t> shape;
  throw_if_error(infer_product_shape(a, b, shape));
  Tensor out;
  throw_if_error(allocate(a.dtype, shape, out));
  matmul(a, b, out, execution);
  return out;
}

void matmul_over_rows(const TensorView& a, const TensorView& b, const MutableTensorView& out,
                      const ExecutionOptions& execution) {
  CallbackGuard callbacks;
  ExecutionOptions guarded = execution;
  callbacks.wrap(guarded);
  const Status status = run_product_over_rows(a, b, out, guarded, callbacks.stop());
  callbacks.rethrow();
  throw_if_error(status);
}

Tensor matmul_over_rows(const TensorView& a, const TensorView& b,
                        const ExecutionOptions& execution) {
  std::vector<std::int64_t> shape;
  throw_if_error(infer_product_over_rows_shape(a, b, shape));
  Tensor out;
  throw_if_error(allocate(a.dtype, shape, out));
  matmul_over_rows(a, b, out, execution);
  return out;
}

}  // namespace qkv
