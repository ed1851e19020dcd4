#include "plan/rotation.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "kernels/registry.h"
#include "parallel/parallel.h"
#include "plan/isa.h"
#include "plan/progress.h"
#include "plan/run_tasks.h"
#include "problem/checks.h"
#include "problem/overlap.h"
#include "simd/float_environment.h"
#include "tensor/element.h"

namespace qkv {
namespace {

// Numbers of a task: some 10 microseconds of work.
constexpr std::int64_t kTaskNumbers = std::int64_t{1} << 15;

struct Names {
  const char *x, *out;
};
Names names_of(const Rotation& r) { return r.back ? Names{"d_out", "d_x"} : Names{"x", "out"}; }

Status check_heads(const char* name, const TensorView& view) {
  if (!view.defined()) return invalid_argument(std::string(name) + ": absent; pass a tensor");
  if (Status s = check_view(name, view); !s.ok()) return s;
  if (view.rank < 3) {
    return invalid_argument(std::string(name) + ": shape " + shape_string(view) +
                            " has no heads; pass [tokens, heads, d] or [batch, tokens, heads, d]");
  }
  if (!is_floating(view.dtype) || view.dtype == DType::kFloat64) {
    return invalid_argument(std::string(name) + ": type " + std::string(name_of(view.dtype)) +
                            " is not rotated; pass float32, float16 or bfloat16");
  }
  return {};
}

// [L, pairs], or [B, L, pairs] for x of rank 4.
Status check_table(const char* name, const TensorView& table, const Rotation& r) {
  if (!table.defined()) return invalid_argument(std::string(name) + ": absent; pass a tensor");
  if (Status s = check_view(name, table); !s.ok()) return s;
  const TensorView x = to_rank4(r.x);
  const bool per_sequence = table.rank == 3;
  bool fits = table.dtype == DType::kFloat32 && (table.rank == 2 || per_sequence);
  if (fits) {
    const int tokens = table.rank - 2;
    fits = table.extents[tokens] == x.extents[1] && table.extents[tokens + 1] <= x.extents[3] / 2 &&
           (!per_sequence || table.extents[0] == x.extents[0]);
  }
  if (fits) return {};
  return invalid_argument(std::string(name) + ": " + describe(table) + " for " + names_of(r).x +
                          " " + shape_string(r.x) + "; it must be float32 [tokens, pairs] or " +
                          "[batch, tokens, pairs], with at most d / 2 pairs");
}

bool same_view(const TensorView& a, const TensorView& b) {
  return a.data == b.data && a.dtype == b.dtype && a.rank == b.rank &&
         std::equal(a.strides.begin(), a.strides.begin() + a.rank, b.strides.begin());
}

Status check_rotation(const Rotation& r, const ExecutionOptions& execution) {
  const auto [x, out] = names_of(r);
  if (Status s = check_heads(x, r.x); !s.ok()) return s;
  if (!r.out.defined()) return invalid_argument(std::string(out) + ": absent; pass a tensor");
  if (Status s = check_view(out, r.out); !s.ok()) return s;
  if (describe(r.x) != describe(r.out)) {
    return invalid_argument(std::string(x) + " " + describe(r.x) + " and " + out + " " +
                            describe(r.out) + " must have the same type and shape");
  }
  if (Status s = check_table("cosines", r.cosines, r); !s.ok()) return s;
  if (Status s = check_table("sines", r.sines, r); !s.ok()) return s;
  if (shape_string(r.cosines) != shape_string(r.sines)) {
    return invalid_argument("cosines " + shape_string(r.cosines) + " and sines " +
                            shape_string(r.sines) + " must have the same shape");
  }
  if (r.layout != RotaryLayout::kInterleaved && r.layout != RotaryLayout::kHalves) {
    return invalid_argument("layout: " + std::to_string(static_cast<int>(r.layout)) +
                            " is unknown; pass a value of RotaryLayout");
  }
  if (execution.threads < 0) {
    return invalid_argument("threads: " + std::to_string(execution.threads) +
                            " is negative; pass 0 for all of them, or a number");
  }
  const NamedView in_place[] = {{"cosines", r.cosines}, {"sines", r.sines}};
  const NamedView inputs[] = {in_place[0], in_place[1], {x, r.x}};
  const NamedView outputs[] = {{out, r.out}};
  if (same_view(r.x, r.out)) return check_memory(in_place, outputs);
  return check_memory(inputs, outputs);
}

// A rotation in normal form, and the rows of its tokens. Each task has memory of its own: a row of
// cosines, of sines and of x.
class Rotator {
 public:
  Rotator(const Rotation& r, const LayerKernel& kernel)
      : kernel_(kernel),
        x_(to_rank4(r.x)),
        out_(to_rank4(r.out)),
        cosines_(for_tokens(r.cosines)),
        sines_(for_tokens(r.sines)),
        columns_(2 * r.cosines.extents[r.cosines.rank - 1]),
        interleaved_(r.layout == RotaryLayout::kInterleaved),
        back_(r.back),
        in_place_(same_view(r.x, r.out)) {}

  std::int64_t tokens() const { return x_.extents[0] * x_.extents[1]; }
  std::int64_t numbers_of_token() const { return x_.extents[2] * x_.extents[3]; }
  std::size_t scratch_floats() const { return static_cast<std::size_t>(3 * columns_); }

  void turn(std::int64_t token, float* scratch) const {
    const std::int64_t b = token / x_.extents[1], t = token % x_.extents[1];
    read_tables(b, t, scratch, scratch + columns_);
    for (std::int64_t h = 0; h < x_.extents[2]; ++h) {
      const std::int64_t from = offset_of(x_, b, t, h, 0), to = offset_of(out_, b, t, h, 0);
      if (!in_place_) copy_rest(from, to);
      turn_row(from, to, scratch);
    }
  }

 private:
  // A table as [B, L, 1, pairs].
  static TensorView for_tokens(const TensorView& table) {
    TensorView view = to_rank4(table);  // [1, B or 1, L, pairs]
    const bool per_sequence = table.rank == 3;
    view.strides = {per_sequence ? view.strides[1] : 0, view.strides[2], 0, view.strides[3]};
    return view;
  }

  // For each column its cosine, and its sine with the sign it has there: minus for the first of a
  // pair, or turning back for the second.
  void read_tables(std::int64_t b, std::int64_t t, float* cosines, float* sines) const {
    const std::int64_t pairs = columns_ / 2;
    for (std::int64_t i = 0; i < pairs; ++i) {
      const float cosine = load_float(cosines_, offset_of(cosines_, b, t, 0, i));
      const float sine = load_float(sines_, offset_of(sines_, b, t, 0, i));
      const std::int64_t first = interleaved_ ? 2 * i : i;
      const std::int64_t second = interleaved_ ? 2 * i + 1 : i + pairs;
      cosines[first] = cosines[second] = cosine;
      sines[first] = back_ ? sine : -sine;
      sines[second] = back_ ? -sine : sine;
    }
  }

  void turn_row(std::int64_t from, std::int64_t to, float* scratch) const {
    float* row = scratch + 2 * columns_;
    const auto direct = [](const TensorView& view) {
      return view.dtype == DType::kFloat32 && view.strides[3] == 1;
    };
    const float* source = row;
    if (direct(x_)) {
      source = static_cast<const float*>(x_.data) + from;
    } else {
      for (std::int64_t c = 0; c < columns_; ++c) {
        row[c] = load_float(x_, from + c * x_.strides[3]);
      }
    }
    float* result = direct(out_) ? static_cast<float*>(out_.data) + to : row;
    kernel_.rotate(source, scratch, scratch + columns_, columns_, interleaved_, result);
    if (direct(out_)) return;
    for (std::int64_t c = 0; c < columns_; ++c)
      store_result(out_, to + c * out_.strides[3], row[c]);
  }

  // Columns that aren't rotated, bit by bit.
  void copy_rest(std::int64_t from, std::int64_t to) const {
    const auto size = static_cast<std::int64_t>(size_of(x_.dtype));
    for (std::int64_t c = columns_; c < x_.extents[3]; ++c) {
      std::memcpy(static_cast<std::byte*>(out_.data) + (to + c * out_.strides[3]) * size,
                  static_cast<const std::byte*>(x_.data) + (from + c * x_.strides[3]) * size,
                  static_cast<std::size_t>(size));
    }
  }

  const LayerKernel& kernel_;
  TensorView x_;
  MutableTensorView out_;
  TensorView cosines_, sines_;
  std::int64_t columns_;  // rotated ones
  bool interleaved_, back_, in_place_;
};

}  // namespace

Status run_rotation(const Rotation& rotation, const ExecutionOptions& execution,
                    const std::atomic<bool>* stop) {
  if (Status s = check_rotation(rotation, execution); !s.ok()) return s;
  const KernelSet* kernels;
  if (Status s = select_kernels(execution.isa, &kernels); !s.ok()) return s;
  const Rotator rotator(rotation, kernels->layers);
  const std::int64_t tokens = rotator.numbers_of_token() == 0 ? 0 : rotator.tokens();
  const std::int64_t tokens_of_task = std::max<std::int64_t>(
      1, kTaskNumbers / std::max<std::int64_t>(1, rotator.numbers_of_token()));
  const std::int64_t tasks = (tokens + tokens_of_task - 1) / tokens_of_task;
  parallel::Executor executor(execution.threads, tasks);
  const std::size_t floats = (rotator.scratch_floats() + 15) / 16 * 16;
  const auto scratch = std::unique_ptr<float[]>(
      new (std::nothrow) float[floats * static_cast<std::size_t>(executor.slots())]);
  if (!scratch) return {StatusCode::kOutOfMemory, "no memory for a workspace of the rotation"};
  Control control;
  control.cancel = execution.cancel;
  control.stop = stop;
  Progress progress(execution.progress);
  progress.start(tasks);
  run_tasks(executor, control, tasks, [&](std::int64_t index, int slot) {
    const std::int64_t first = index * tokens_of_task;
    for (std::int64_t t = first; t < std::min(tokens, first + tokens_of_task); ++t) {
      rotator.turn(t, scratch.get() + static_cast<std::size_t>(slot) * floats);
    }
    progress.task_done();
  });
  if (control.cancelled()) {
    return cancelled_call();
  }
  progress.finish();
  return {};
}

}  // namespace qkv
