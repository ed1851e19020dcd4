#include "plan/product.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string>

#include "kernels/registry.h"
#include "parallel/parallel.h"
#include "plan/isa.h"
#include "plan/progress.h"
#include "problem/checks.h"
#include "problem/overlap.h"
#include "simd/float_environment.h"

namespace qkv {
namespace {

bool has_contract_a(DType dtype) { return is_floating(dtype) && dtype != DType::kFloat64; }

Status check_factors(const TensorView& a, const TensorView& b) {
  for (const auto& [name, view] : {std::pair("a", &a), std::pair("b", &b)}) {
    if (!view->defined()) return invalid_argument(std::string(name) + ": absent; pass a tensor");
    if (Status s = check_view(name, *view); !s.ok()) return s;
    if (view->rank < 2) {
      return invalid_argument(std::string(name) + ": shape " + shape_string(*view) +
                              " is no matrix; pass rank 2 to 4");
    }
    if (!has_contract_a(view->dtype)) {
      return invalid_argument(std::string(name) + ": type " + std::string(name_of(view->dtype)) +
                              " is not multiplied here; pass float32, float16 or bfloat16");
    }
    if (Status s = check_pointer(name, *view); !s.ok()) return s;
  }
  return {};
}

}  // namespace

Status infer_product_shape(const TensorView& a, const TensorView& b,
                           std::vector<std::int64_t>& shape) {
  if (Status s = check_factors(a, b); !s.ok()) return s;
  const TensorView a4 = to_rank4(a), b4 = to_rank4(b);
  if (a4.extents[3] != b4.extents[2]) {
    return invalid_argument("a " + shape_string(a) + " and b " + shape_string(b) +
                            ": the columns of a must be as many as the rows of b");
  }
  Extents extents = {0, 0, a4.extents[2], b4.extents[3]};
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t of_a = a4.extents[axis], of_b = b4.extents[axis];
    if (of_a != of_b && of_a != 1 && of_b != 1) {
      return invalid_argument("a " + shape_string(a) + " and b " + shape_string(b) +
                              ": leading dimensions must be equal or 1");
    }
    extents[axis] = of_a == 1 ? of_b : of_a;
  }
  shape.assign(extents.end() - std::max(a.rank, b.rank), extents.end());
  return {};
}

Status run_product(const TensorView& a, const TensorView& b, const MutableTensorView& out,
                   const ExecutionOptions& execution, const std::atomic<bool>* stop) {
  std::vector<std::int64_t> shape;
  if (Status s = infer_product_shape(a, b, shape); !s.ok()) return s;
  if (Status s = check_view("out", out); !s.ok()) return s;
  const TensorView wanted(nullptr, DType::kFloat32, shape);
  if (shape_string(out) != shape_string(wanted)) {
    return invalid_argument("out: shape " + shape_string(out) + " does not fit a " +
                            shape_string(a) + " times b " + shape_string(b) + "; it must be " +
                            shape_string(wanted));
  }
  if (out.dtype != DType::kFloat32 && out.dtype != a.dtype && out.dtype != b.dtype) {
    return invalid_argument("out: type " + std::string(name_of(out.dtype)) +
                            " fits neither a nor b; pass float32 or a type of theirs");
  }
  if (Status s = check_pointer("out", out); !s.ok()) return s;
  if (overlaps_itself(out) || overlap(out, a) || overlap(out, b)) {
    return invalid_argument("out: shares memory with a, b or itself; pass an output of its own");
  }
  if (execution.threads < 0) {
    return invalid_argument("threads: " + std::to_string(execution.threads) +
                            " is negative; pass 0 for all of them, or a number");
  }
  const KernelSet* kernels;
  if (Status s = select_kernels(execution.isa, &kernels); !s.ok()) return s;

  MatrixProduct product{to_rank4(a), to_rank4(b), to_rank4(out)};
  for (int axis = 0; axis < 2; ++axis) {
    for (TensorView* factor : {&product.a, &product.b}) {
      if (factor->extents[axis] == product.out.extents[axis]) continue;
      factor->extents[axis] = product.out.extents[axis];
      factor->strides[axis] = 0;
    }
  }
  const MatmulKernel& kernel = kernels->matmul;
  const std::int64_t panels = (product.n() + kernel.tile_columns - 1) / kernel.tile_columns;
  const std::int64_t columns = product.out.extents[1];
  const std::int64_t tasks =
      product.out.size() == 0 ? 0 : product.out.extents[0] * columns * panels;
  parallel::Executor executor(execution.threads, tasks);
  const std::size_t slot_bytes = kernel.scratch_bytes(product) + 64;
  const auto memory = std::unique_ptr<std::byte[]>(
      new (std::nothrow) std::byte[slot_bytes * static_cast<std::size_t>(executor.slots())]);
  if (!memory) return {StatusCode::kOutOfMemory, "no memory for a workspace of the matrix product"};
  Control control;
  control.cancel = execution.cancel;
  control.stop = stop;
  Progress progress(execution.progress);
  const auto task = [&](std::int64_t index, int slot) {
    if (control.cancelled()) return false;
    const FloatEnvironment environment;
    const std::int64_t matrix = index / panels;
    kernel.columns(product, matrix / columns, matrix % columns,
                   index % panels * kernel.tile_columns,
                   memory.get() + static_cast<std::size_t>(slot) * slot_bytes, control);
    progress.task_done();
    return true;
  };
  progress.start(tasks);
  {
    // In the caller's arena oneTBB would clear sticky flags of the caller's.
    const FloatEnvironment of_caller;
    executor.run(tasks, task);
  }
  if (control.cancelled()) {
    return {StatusCode::kCancelled, "the call was cancelled; its outputs are unspecified"};
  }
  progress.finish();
  return {};
}

}  // namespace qkv
