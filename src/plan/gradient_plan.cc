#include "plan/gradient_plan.h"

#include <algorithm>
#include <limits>
#include <new>
#include <string>

#include "kernels/attention/scratch.h"
#include "kernels/reference/gradient.h"
#include "plan/isa.h"
#include "plan/run_tasks.h"
#include "simd/float_environment.h"
#include "tensor/element.h"

namespace qkv {
namespace {

std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
std::size_t bytes_of(std::int64_t floats) {
  return round_up(static_cast<std::size_t>(floats) * sizeof(float));
}

}  // namespace

Status BackwardPlan::make(const GradientInputs& inputs, const GradientOutputs& outputs,
                          const AttentionOptions& options, const ExecutionOptions& execution,
                          std::unique_ptr<BackwardPlan>& plan) {
  const FloatEnvironment environment;
  GradientProblem problem;
  problem.inputs = inputs;
  problem.outputs = outputs;
  if (Status s = validate(problem, options); !s.ok()) return s;
  if (execution.threads < 0) {
    return invalid_argument("threads: " + std::to_string(execution.threads) +
                            " is negative; pass 0 for all of them, or a number");
  }
  const KernelSet* kernels;
  if (Status s = select_kernels(execution.isa, &kernels); !s.ok()) return s;
  plan.reset(new BackwardPlan(std::move(problem), execution, *kernels));
  if (plan->problem_.forward.is_float64()) {
    plan->plan_float64();
    return {};
  }
  if (Status s = plan->forward_.plan(plan->problem_, plan->execution_); !s.ok()) return s;
  plan->plan_float32();
  return {};
}

BackwardPlan::BackwardPlan(GradientProblem problem, const ExecutionOptions& execution,
                           const KernelSet& kernels)
    : problem_(std::move(problem)),
      execution_(execution),
      kernels_(kernels),
      kernel_(kernels.gradient),
      progress_(execution_.progress) {
  control_.cancel = execution.cancel;
  control_.check_block_predicate = execution.check_block_predicate;
  control_.predicate_failed = &predicate_failed_;
  description_.isa = kernel_.isa;
  description_.weights_bytes = 0;
}

void BackwardPlan::plan_float32() {
  const Problem& p = problem_.forward;
  columns_ = Columns(p);
  tasks_ = columns_.columns();
  const std::int64_t bias_tasks = BiasSums(problem_, columns_).tasks();
  int threads = execution_.threads == 0 ? parallel::available_threads() : execution_.threads;
  // Every task may run on any slot.
  threads = static_cast<int>(std::clamp<std::int64_t>(std::max(tasks_, bias_tasks), 1, threads));
  executor_ = std::make_unique<parallel::Executor>(execution_.threads == 0 ? 0 : threads);
  slots_ = threads;
  sums_.plan(problem_, columns_, kernel_, slots_);

  kernel_scratch_bytes_ = round_up(kernel_.scratch_bytes(problem_) + 64);
  std::size_t column_bytes = round_up(sums_.slot_bytes());
  if (bias_tasks > 0) column_bytes = std::max(column_bytes, bytes_of(kSpan * kGradientRows));
  slot_bytes_ = kernel_scratch_bytes_ + column_bytes + 64;
  description_.kernel = std::string(kernel_.name) + ", tiles of " + std::to_string(kGradientRows) +
                        " queries x " + std::to_string(kBlock) + " keys";
  description_.rows_per_tile = kGradientRows;
  description_.tasks = tasks_;
  description_.threads = threads;
  description_.workspace_bytes = 3 * bytes_of(columns_.rows()) + bytes_of(sums_.shared_floats()) +
                                 static_cast<std::size_t>(slots_) * slot_bytes_ + 64;
}

void BackwardPlan::plan_float64() {
  const Problem& p = problem_.forward;
  // Sums over several key heads are added by one task, in order.
  const bool one = problem_.d_bias.defined() || problem_.d_sinks.defined();
  tasks_ = one ? 1 : p.sequences * p.key_heads();
  int threads = execution_.threads == 0 ? parallel::available_threads() : execution_.threads;
  threads = static_cast<int>(std::clamp<std::int64_t>(tasks_, 1, threads));
  executor_ = std::make_unique<parallel::Executor>(execution_.threads == 0 ? 0 : threads);
  slots_ = threads;
  slot_bytes_ = round_up(reference::gradient_scratch(problem_) * sizeof(double));
  description_.kernel = "reference, float64, plain loops";
  description_.isa = Isa::kPortable;
  description_.tasks = tasks_;
  description_.rows_per_tile = 1;
  description_.threads = threads;
  description_.workspace_bytes = static_cast<std::size_t>(slots_) * slot_bytes_ + 64;
}

Status BackwardPlan::prepare_workspace(std::span<std::byte> workspace) {
  const std::size_t needed = description_.workspace_bytes;
  std::byte* memory = workspace.data();
  if (memory != nullptr && workspace.size() < needed) {
    return invalid_argument("workspace: " + std::to_string(workspace.size()) +
                            " bytes are too few; this plan needs " + std::to_string(needed));
  }
  if (memory == nullptr) {
    if (!owned_memory_) owned_memory_.reset(new (std::nothrow) std::byte[needed]);
    if (!owned_memory_) {
      return {StatusCode::kOutOfMemory,
              "no memory for a workspace of " + std::to_string(needed) + " bytes"};
    }
    memory = owned_memory_.get();
  }
  Scratch scratch(memory);
  if (problem_.forward.is_float64()) {
    slot_memory_ = reinterpret_cast<std::byte*>(scratch.floats(0));
    return {};
  }
  m_ = scratch.floats(columns_.rows());
  l_ = scratch.floats(columns_.rows());
  d_ = scratch.floats(columns_.rows());
  shared_ = scratch.floats(sums_.shared_floats());
  slot_memory_ = reinterpret_cast<std::byte*>(scratch.floats(0));
  return {};
}

Status BackwardPlan::run(std::span<std::byte> workspace, const std::atomic<bool>* stop) {
  if (Status s = prepare_workspace(workspace); !s.ok()) return s;
  control_.stop = stop;
  predicate_failed_ = false;
  progress_.start(description_.tasks);
  if (Status s = forward_.run(stop); !s.ok()) return s;
  if (problem_.forward.is_float64()) {
    run_float64();
  } else {
    run_float32();
  }
  if (control_.cancelled()) {
    return cancelled_call();
  }
  if (predicate_failed_) {
    return invalid_argument(
        "block_predicate: it hides a key that mask_mod shows, or shows one that mask_mod hides; "
        "make them agree");
  }
  clear_dead_rows(problem_);
  progress_.finish();
  return {};
}

void BackwardPlan::run_float64() {
  const Problem& p = problem_.forward;
  clear_sums(problem_);
  const auto key_head = [&](std::int64_t n, int slot) {
    const Sequence sequence = p.sequence(n / p.key_heads());
    reference::key_head_gradients(
        problem_, sequence, n % p.key_heads(),
        {reinterpret_cast<double*>(slot_scratch(slot)), reference::gradient_scratch(problem_)});
  };
  const std::int64_t all = p.sequences * p.key_heads();
  run_tasks(*executor_, control_, tasks_, [&](std::int64_t task, int slot) {
    if (tasks_ == all) {
      key_head(task, slot);
    } else {
      for (std::int64_t n = 0; n < all && !control_.cancelled(); ++n) key_head(n, slot);
    }
    progress_.task_done();
  });
}

void BackwardPlan::run_float32() {
  sums_.start(shared_);
  {
    const FloatEnvironment environment;
    clear_sums(problem_);
  }
  run_tasks(*executor_, control_, static_cast<std::int64_t>(columns_.key_heads().size()),
            [&](std::int64_t task, int slot) { prepare_rows(task, slot); });
  run_tasks(*executor_, control_, tasks_,
            [&](std::int64_t task, int slot) { run_column(task, slot); });
  run_tasks(*executor_, control_, BiasSums(problem_, columns_).tasks(),
            [&](std::int64_t task, int slot) { run_bias(task, slot); });
  const FloatEnvironment environment;
  if (problem_.d_sinks.defined() && !control_.cancelled()) run_sinks();
}

GradientTile BackwardPlan::with_numbers(const KeyHead& at, const RowTile& rows) const {
  const std::int64_t first = columns_.place_of(at, rows);
  return {rows, m_ + first, l_ + first, d_ + first};
}

// m, l and D of all rows of a key head.
void BackwardPlan::prepare_rows(std::int64_t task, int slot) {
  const KeyHead& at = columns_.key_heads()[static_cast<std::size_t>(task)];
  for (std::int64_t head = 0; head < problem_.forward.group(); ++head) {
    for (std::int64_t tile = 0; tile < at.tiles; ++tile) {
      const RowTile rows = columns_.rows_of(at, head, tile);
      const std::int64_t first = columns_.place_of(at, rows);
      kernel_.row_dots(problem_, rows, d_ + first, slot_scratch(slot));
      for (int r = 0; r < rows.rows; ++r) {
        const std::int64_t row = at.sequence.query_begin + rows.queries[r];
        const auto number = [&](const TensorView& view) {
          return load_float(view, offset_of(view, at.sequence.buffer, rows.heads[r], row, 0));
        };
        m_[first + r] = number(problem_.row_max);
        // With the LSE in place of m, the weight is exp(s - lse).
        l_[first + r] = problem_.row_sum.defined() ? number(problem_.row_sum)
                        : m_[first + r] == -std::numeric_limits<float>::infinity() ? 0.0f
                                                                                   : 1.0f;
      }
    }
  }
}

void BackwardPlan::run_column(std::int64_t column, int slot) {
  std::byte* const scratch = slot_scratch(slot);
  sums_.run(column, {scratch, scratch + kernel_scratch_bytes_}, control_,
            [&](const KeyHead& at, const RowTile& rows, KeyRange keys, const SpanSums& sums) {
              kernel_.add_span(problem_, with_numbers(at, rows), keys, sums, scratch, control_);
            });
  progress_.task_done();
}

}  // namespace qkv
