#include "qkv/matmul.h"

#include "plan/product.h"

namespace qkv {

void matmul(const TensorView& a, const TensorView& b, const MutableTensorView& out,
            const ExecutionOptions& execution) {
  throw_if_error(run_product(a, b, out, execution));
}

Tensor matmul(const TensorView& a, const TensorView& b, const ExecutionOptions& execution) {
  std::vector<std::int64_t> shape;
  throw_if_error(infer_product_shape(a, b, shape));
  Tensor out;
  throw_if_error(allocate(a.dtype, shape, out));
  matmul(a, b, out, execution);
  return out;
}

}  // namespace qkv
