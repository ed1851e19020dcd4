#include "plan/product.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string>

#include "kernels/attention/scratch.h"
#include "kernels/registry.h"
#include "parallel/parallel.h"
#include "plan/isa.h"
#include "plan/progress.h"
#include "plan/run_tasks.h"
#include "plan/sum_fold.h"
#include "problem/checks.h"
#include "problem/overlap.h"
#include "simd/float_environment.h"

namespace qkv {
namespace {

// With fewer tasks than this the rows are cut too, into at least so many tiles each.
constexpr std::int64_t kEnoughTasks = 16, kTilesOfTask = 2;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

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

// Leading dimensions broadcast, then `rows` x `columns`.
Status product_shape(const TensorView& a, const TensorView& b, std::int64_t rows,
                     std::int64_t columns, std::vector<std::int64_t>& shape) {
  const TensorView a4 = to_rank4(a), b4 = to_rank4(b);
  Extents extents = {0, 0, rows, columns};
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

Status check_product(const TensorView& a, const TensorView& b, const MutableTensorView& out,
                     std::span<const std::int64_t> shape, const ExecutionOptions& execution) {
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
  return {};
}

// Rank 4, a and b broadcast to the leading dimensions of out by strides of 0.
template <class Product>
Product normal_form(const TensorView& a, const TensorView& b, const MutableTensorView& out) {
  Product product{to_rank4(a), to_rank4(b), to_rank4(out)};
  for (int axis = 0; axis < 2; ++axis) {
    for (TensorView* factor : {&product.a, &product.b}) {
      if (factor->extents[axis] == product.out.extents[axis]) continue;
      factor->extents[axis] = product.out.extents[axis];
      factor->strides[axis] = 0;
    }
  }
  return product;
}

// Runs task(index, scratch, control) for 0 to tasks - 1, each with `bytes` of scratch memory.
template <class F>
Status run_with_scratch(std::int64_t tasks, std::size_t bytes, const ExecutionOptions& execution,
                        const std::atomic<bool>* stop, const F& task) {
  parallel::Executor executor(execution.threads, tasks);
  const auto memory = std::unique_ptr<std::byte[]>(
      new (std::nothrow) std::byte[bytes * static_cast<std::size_t>(executor.slots())]);
  if (!memory) return {StatusCode::kOutOfMemory, "no memory for a workspace of the matrix product"};
  Control control;
  control.cancel = execution.cancel;
  control.stop = stop;
  Progress progress(execution.progress);
  progress.start(tasks);
  run_tasks(executor, control, tasks, [&](std::int64_t index, int slot) {
    task(index, memory.get() + static_cast<std::size_t>(slot) * bytes, control);
    progress.task_done();
  });
  if (control.cancelled()) {
    return cancelled_call();
  }
  progress.finish();
  return {};
}

}  // namespace

Status infer_product_shape(const TensorView& a, const TensorView& b,
                           std::vector<std::int64_t>& shape) {
  if (Status s = check_factors(a, b); !s.ok()) return s;
  if (a.extents[a.rank - 1] != b.extents[b.rank - 2]) {
    return invalid_argument("a " + shape_string(a) + " and b " + shape_string(b) +
                            ": the columns of a must be as many as the rows of b");
  }
  return product_shape(a, b, a.extents[a.rank - 2], b.extents[b.rank - 1], shape);
}

Status run_product(const TensorView& a, const TensorView& b, const MutableTensorView& out,
                   const ExecutionOptions& execution, const std::atomic<bool>* stop) {
  std::vector<std::int64_t> shape;
  if (Status s = infer_product_shape(a, b, shape); !s.ok()) return s;
  if (Status s = check_product(a, b, out, shape, execution); !s.ok()) return s;
  const KernelSet* kernels;
  if (Status s = select_kernels(execution.isa, &kernels); !s.ok()) return s;
  const auto product = normal_form<MatrixProduct>(a, b, out);
  const MatmulKernel& kernel = kernels->matmul;
  const std::int64_t panels = divide_up(product.n(), kernel.tile_columns);
  const std::int64_t matrices = product.out.extents[0] * product.out.extents[1];
  // Rows of a task: all of them, if there are tasks enough without cutting them.
  const std::int64_t pieces =
      std::clamp<std::int64_t>(kEnoughTasks / std::max<std::int64_t>(1, matrices * panels), 1,
                               divide_up(product.m(), kTilesOfTask * kernel.tile_rows));
  const std::int64_t rows =
      divide_up(divide_up(product.m(), std::max<std::int64_t>(1, pieces)), kernel.tile_rows) *
      kernel.tile_rows;
  const std::int64_t chunks = rows == 0 ? 0 : divide_up(product.m(), rows);
  const std::int64_t tasks = product.out.size() == 0 ? 0 : matrices * panels * chunks;
  return run_with_scratch(
      tasks, kernel.scratch_bytes(product) + 64, execution, stop,
      [&](std::int64_t index, std::byte* scratch, const Control& control) {
        const std::int64_t matrix = index / (panels * chunks);
        const std::int64_t first = index % chunks * rows;
        kernel.columns(product, matrix / product.out.extents[1], matrix % product.out.extents[1],
                       first, std::min(first + rows, product.m()),
                       index / chunks % panels * kernel.tile_columns, scratch, control);
      });
}

Status infer_product_over_rows_shape(const TensorView& a, const TensorView& b,
                                     std::vector<std::int64_t>& shape) {
  if (Status s = check_factors(a, b); !s.ok()) return s;
  if (a.extents[a.rank - 2] != b.extents[b.rank - 2]) {
    return invalid_argument("a " + shape_string(a) + " and b " + shape_string(b) +
                            ": they must have the same number of rows");
  }
  return product_shape(a, b, a.extents[a.rank - 1], b.extents[b.rank - 1], shape);
}

Status run_product_over_rows(const TensorView& a, const TensorView& b, const MutableTensorView& out,
                             const ExecutionOptions& execution, const std::atomic<bool>* stop) {
  std::vector<std::int64_t> shape;
  if (Status s = infer_product_over_rows_shape(a, b, shape); !s.ok()) return s;
  if (Status s = check_product(a, b, out, shape, execution); !s.ok()) return s;
  const KernelSet* kernels;
  if (Status s = select_kernels(execution.isa, &kernels); !s.ok()) return s;
  const auto product = normal_form<RowProduct>(a, b, out);
  const MatmulKernel& kernel = kernels->matmul;
  const std::int64_t panels = divide_up(product.m(), kRowProductColumns);
  const std::int64_t matrices = product.out.extents[0] * product.out.extents[1];
  const std::int64_t tasks = product.out.size() == 0 ? 0 : matrices * panels;
  const std::int64_t spans = divide_up(product.rows(), kSpan);
  const std::int64_t size = kRowProductColumns * row_stride(product.n());
  const std::size_t kernel_bytes = (kernel.rows_scratch_bytes(product) + 127) / 64 * 64;
  const std::size_t bytes =
      kernel_bytes + static_cast<std::size_t>(SumFold::at_most(0, spans) * size) * sizeof(float) +
      64;
  return run_with_scratch(
      tasks, bytes, execution, stop,
      [&](std::int64_t index, std::byte* scratch, const Control& control) {
        const std::int64_t matrix = index / panels;
        const std::int64_t x = matrix / product.out.extents[1], y = matrix % product.out.extents[1];
        const std::int64_t column = index % panels * kRowProductColumns;
        const auto count =
            static_cast<int>(std::min<std::int64_t>(kRowProductColumns, product.m() - column));
        SumFold sums(Scratch(scratch + kernel_bytes).floats(0), size);
        for (std::int64_t span = 0; span < spans; ++span) {
          if (control.cancelled()) return;
          kernel.add_rows(product, x, y, span * kSpan, std::min((span + 1) * kSpan, product.rows()),
                          column, count, sums.start(span), scratch);
        }
        kernel.write_rows(product.out, x, y, column, count, sums.finish());
      });
}

}  // namespace qkv
