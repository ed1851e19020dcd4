#include "plan/gradient_plan.h"

#include <algorithm>
#include <new>
#include <string>

#include "kernels/attention/scratch.h"
#include "kernels/reference/gradient.h"
#include "plan/isa.h"
#include "simd/float_environment.h"
#include "tensor/element.h"

namespace qkv {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
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
  if (Status s = plan->plan_forward(); !s.ok()) return s;
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

// What the call doesn't bring of the forward pass is computed before each run.
Status BackwardPlan::plan_forward() {
  if (problem_.has_forward_results()) return {};
  const Problem& p = problem_.forward;
  const TensorView& query = p.inputs.query;
  std::vector<std::int64_t> shape(query.extents.begin(), query.extents.begin() + query.rank);
  shape.back() = p.d_v();
  if (Status s = allocate(DType::kFloat32, shape, out_); !s.ok()) return s;
  shape.pop_back();
  if (p.packed()) shape = {p.query_heads(), p.queries()};
  if (Status s = allocate(DType::kFloat32, shape, row_max_); !s.ok()) return s;
  if (Status s = allocate(DType::kFloat32, shape, row_sum_); !s.ok()) return s;
  AttentionOutputs outputs;
  outputs.out = out_;
  outputs.row_max = row_max_;
  outputs.row_sum = row_sum_;
  ExecutionOptions execution = execution_;
  execution.progress = nullptr;
  if (Status s = Plan::make(p.inputs, outputs, p.options, execution, forward_); !s.ok()) return s;
  GradientInputs inputs = problem_.inputs;
  inputs.out = out_;
  inputs.row_max = row_max_;
  inputs.row_sum = row_sum_;
  problem_.inputs = inputs;
  const AttentionOptions options = p.options;
  return validate(problem_, options);
}

void BackwardPlan::plan_float32() {
  const Problem& p = problem_.forward;
  std::int64_t most_tiles = 0, query_spans = 1;
  for (std::int64_t b = 0; b < p.sequences; ++b) {
    const Sequence sequence = p.sequence(b);
    const std::int64_t tiles = divide_up(sequence.queries, kGradientRows);
    for (std::int64_t head = 0; head < p.key_heads(); ++head) {
      KeyHead at{sequence, head, columns_, 1, rows_, tiles};
      at.columns = std::max<std::int64_t>(1, divide_up(sequence.end_key, kSpan));
      columns_ += at.columns;
      rows_ += p.group() * sequence.queries;
      key_heads_.push_back(at);
      span_keys_ = std::max(span_keys_, std::min(sequence.end_key, kSpan));
      query_spans = std::max(query_spans, divide_up(sequence.queries, kSpan));
      if (at.columns == 1) continue;
      most_tiles = std::max(most_tiles, p.group() * tiles);
      // A window's columns may begin anywhere, and may be few.
      const std::int64_t from_0 = SumFold::at_most(0, at.columns);
      query_folds_ = std::max(query_folds_, p.options.window.left
                                                ? std::max(from_0, SumFold::at_most(1, at.columns))
                                                : from_0);
    }
  }
  // Causal columns begin where their keys do, at any span of queries.
  key_folds_ = std::max(SumFold::at_most(0, query_spans), SumFold::at_most(1, query_spans));
  fold_tiles_ = most_tiles;

  int threads = execution_.threads == 0 ? parallel::available_threads() : execution_.threads;
  // Every task may run on any slot.
  threads =
      static_cast<int>(std::clamp<std::int64_t>(std::max(columns_, bias_tasks()), 1, threads));
  executor_ = std::make_unique<parallel::Executor>(execution_.threads == 0 ? 0 : threads);
  slots_ = threads;
  heads_at_once_ =
      std::min<std::int64_t>(threads + 1, static_cast<std::int64_t>(key_heads_.size()));

  const std::int64_t key_numbers = row_stride(p.d_qk()) + row_stride(p.d_v());
  const std::int64_t key_arrays = key_folds_ + (p.group() > 1 ? 1 : 0);
  kernel_scratch_bytes_ = round_up(kernel_.scratch_bytes(problem_) + 64);
  std::size_t column_bytes =
      bytes_of(kGradientRows * p.d_qk()) + bytes_of(key_arrays * span_keys_ * key_numbers);
  if (bias_tasks() > 0) column_bytes = std::max(column_bytes, bytes_of(kSpan * kGradientRows));
  slot_bytes_ = kernel_scratch_bytes_ + column_bytes + 64;
  const std::size_t query_bytes =
      bytes_of(heads_at_once_ * fold_tiles_ * query_folds_ * kGradientRows * p.d_qk());
  passed_ = std::make_unique<std::atomic<std::int64_t>[]>(static_cast<std::size_t>(columns_));
  query_sums_.reserve(static_cast<std::size_t>(heads_at_once_ * fold_tiles_));
  description_.kernel = std::string(kernel_.name) + ", tiles of " + std::to_string(kGradientRows) +
                        " queries x " + std::to_string(kBlock) + " keys";
  description_.rows_per_tile = kGradientRows;
  description_.tasks = columns_;
  description_.threads = threads;
  description_.workspace_bytes =
      3 * bytes_of(rows_) + query_bytes + static_cast<std::size_t>(slots_) * slot_bytes_ + 64;
}

void BackwardPlan::plan_float64() {
  const Problem& p = problem_.forward;
  // Sums over several key heads are added by one task, in order.
  const bool one = problem_.d_bias.defined() || problem_.d_sinks.defined();
  columns_ = one ? 1 : p.sequences * p.key_heads();
  int threads = execution_.threads == 0 ? parallel::available_threads() : execution_.threads;
  threads = static_cast<int>(std::clamp<std::int64_t>(columns_, 1, threads));
  executor_ = std::make_unique<parallel::Executor>(execution_.threads == 0 ? 0 : threads);
  slots_ = threads;
  slot_bytes_ = round_up(reference::gradient_scratch(problem_) * sizeof(double));
  description_.kernel = "reference, float64, plain loops";
  description_.isa = Isa::kPortable;
  description_.tasks = columns_;
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
  m_ = scratch.floats(rows_);
  l_ = scratch.floats(rows_);
  d_ = scratch.floats(rows_);
  const std::int64_t tile_floats = kGradientRows * problem_.forward.d_qk();
  float* sums = scratch.floats(heads_at_once_ * fold_tiles_ * query_folds_ * tile_floats);
  query_sums_.clear();
  for (std::int64_t n = 0; n < heads_at_once_ * fold_tiles_; ++n) {
    query_sums_.emplace_back(sums + n * query_folds_ * tile_floats, tile_floats);
  }
  slot_memory_ = reinterpret_cast<std::byte*>(scratch.floats(0));
  return {};
}

Status BackwardPlan::run(std::span<std::byte> workspace, const std::atomic<bool>* stop) {
  if (Status s = prepare_workspace(workspace); !s.ok()) return s;
  control_.stop = stop;
  predicate_failed_ = false;
  progress_.start(description_.tasks);
  if (forward_) {
    if (Status s = forward_->run({}, stop); !s.ok()) return s;
  }
  if (problem_.forward.is_float64()) {
    run_float64();
  } else {
    run_float32();
  }
  if (control_.cancelled()) {
    return {StatusCode::kCancelled, "the call was cancelled; its outputs are unspecified"};
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

template <class F>
void BackwardPlan::run_tasks(std::int64_t count, F task) {
  // In the caller's arena oneTBB would clear sticky flags of the caller's.
  const FloatEnvironment of_caller;
  executor_->run(count, [&](std::int64_t index, int slot) {
    if (control_.cancelled()) return false;
    const FloatEnvironment environment;
    task(index, slot);
    return true;
  });
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
  run_tasks(columns_, [&](std::int64_t task, int slot) {
    if (columns_ == all) {
      key_head(task, slot);
    } else {
      for (std::int64_t n = 0; n < all && !control_.cancelled(); ++n) key_head(n, slot);
    }
    progress_.task_done();
  });
}

void BackwardPlan::run_float32() {
  for (std::int64_t n = 0; n < columns_; ++n) passed_[static_cast<std::size_t>(n)] = 0;
  {
    const FloatEnvironment environment;
    clear_sums(problem_);
  }
  run_tasks(static_cast<std::int64_t>(key_heads_.size()),
            [&](std::int64_t task, int slot) { prepare_rows(task, slot); });
  run_tasks(columns_, [&](std::int64_t task, int slot) { run_column(task, slot); });
  run_tasks(bias_tasks(), [&](std::int64_t task, int slot) { run_bias(task, slot); });
  const FloatEnvironment environment;
  if (problem_.d_sinks.defined() && !control_.cancelled()) run_sinks();
}

}  // namespace qkv
