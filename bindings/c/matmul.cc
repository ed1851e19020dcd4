#include "boundary.h"
#include "convert.h"
#include "plan/product.h"

using qkv::Status;
using namespace qkv::c;

namespace {

using Run = Status (*)(const qkv::TensorView&, const qkv::TensorView&,
                       const qkv::MutableTensorView&, const qkv::ExecutionOptions&,
                       const std::atomic<bool>*);

qkv_status product_of(const qkv_tensor* a, const qkv_tensor* b, const qkv_tensor* out,
                      const qkv_execution* execution, Run run) {
  return guarded([&]() -> Status {
    qkv::TensorView left, right;
    qkv::MutableTensorView product;
    qkv::ExecutionOptions how;
    CallbackRecord callbacks;
    if (Status s = to_view("a", a, left); !s.ok()) return s;
    if (Status s = to_view("b", b, right); !s.ok()) return s;
    if (Status s = to_view("out", out, product); !s.ok()) return s;
    if (Status s = to_execution(execution, callbacks, how); !s.ok()) return s;
    return callbacks.status_of(run(left, right, product, how, callbacks.stop()));
  });
}

}  // namespace

qkv_status qkv_matmul(const qkv_tensor* a, const qkv_tensor* b, const qkv_tensor* out,
                      const qkv_execution* execution) {
  return product_of(a, b, out, execution, qkv::run_product);
}

qkv_status qkv_matmul_over_rows(const qkv_tensor* a, const qkv_tensor* b, const qkv_tensor* out,
                                const qkv_execution* execution) {
  return product_of(a, b, out, execution, qkv::run_product_over_rows);
}
