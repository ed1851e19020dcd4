#include "qkv/matmul.h"

#include "boundary.h"
#include "convert.h"

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
    throw_on_failure(how, callbacks);
    qkv::matmul(left, right, product, how);
    return {};
  });
}
