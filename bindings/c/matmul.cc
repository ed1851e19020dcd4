#include "boundary.h"
#include "convert.h"
#include "plan/product.h"

using qkv::Status;
using namespace qkv::c;

qkv_status qkv_matmul(const qkv_tensor* a, const qkv_tensor* b, const qkv_tensor* out,
                      const qkv_execution* execution) {
  return guarded([&]() -> Status {
    qkv::TensorView left, right;
    qkv::MutableTensorView product;
    qkv::ExecutionOptions how;
    CallbackRecord callbacks;
    if (Status s = to_view("a", a, left); !s.ok()) return s;
    if (Status s = to_view("b", b, right); !s.ok()) return s;
    if (Status s = to_view("out", out, product); !s.ok()) return s;
    if (Status s = to_execution(execution, callbacks, how); !s.ok()) return s;
    return callbacks.status_of(qkv::run_product(left, right, product, how, callbacks.stop()));
  });
}
