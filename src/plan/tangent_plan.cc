#include "plan/tangent_plan.h"

#include <algorithm>
#include <limits>
#include <new>
#include <string>

#include "kernels/attention/scratch.h"
#include "kernels/exact/functions.h"
#include "kernels/reference/tangent.h"
#include "plan/isa.h"
#include "plan/run_tasks.h"
#include "plan/sum_fold.h"
#include "simd/float_environment.h"
#include "tensor/element.h"

namespace qkv {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
std::size_t bytes_of(std::int64_t floats) {
  return round_up(static_cast<std::size_t>(floats) * sizeof(float));
}

}  // namespace

// ---- Planning -----------------------------------------------------------------------------------

Status TangentPlan::make(TangentProblem problem, const AttentionOptions& options,
                         const ExecutionOptions& execution, std::unique_ptr<TangentPlan>& plan) {
  const FloatEnvironment environment;
  if (Status s = validate(problem, options); !s.ok()) return s;
  if (execution.threads < 0) {
    return invalid_argument("threads: " + std::to_string(execution.threads) +
                            " is negative; pass 0 for all of them, or a number");
  }
  const KernelSet* kernels;
  if (Status s = select_kernels(execution.isa, &kernels); !s.ok()) return s;
  plan.reset(new TangentPlan(std::move(problem), execution, *kernels));
  if (plan->problem_.gradient.forward.is_float64()) {
    plan->plan_float64();
    return {};
  }
  if (Status s = plan->forward_.plan(plan->problem_.gradient, execution); !s.ok()) return s;
  plan->plan_float32();
  return {};
}

TangentPlan::TangentPlan(TangentProblem problem, const ExecutionOptions& execution,
                         const KernelSet& kernels)
    : problem_(std::move(problem)),
      execution_(execution),
      kernels_(kernels),
      kernel_(tangent_kernel(kernels)),
      progress_(execution_.progress) {
  control_.cancel = execution.cancel;
  control_.check_block_predicate = execution.check_block_predicate;
  control_.predicate_failed = &predicate_failed_;
}

void TangentPlan::plan_float32() {
  const Problem& p = problem_.gradient.forward;
  columns_ = Columns(p);
  tasks_ = columns_.tiles() + (has_columns() ? columns_.columns() : 0);
  int threads = execution_.threads == 0 ? parallel::available_threads() : execution_.threads;
  const std::int64_t bias_tasks = BiasSums(problem_.gradient, columns_).tasks();
  const std::int64_t most = std::max({columns_.tiles(), columns_.columns(), bias_tasks});
  slots_ = static_cast<int>(std::clamp<std::int64_t>(most, 1, threads));
  executor_ = std::make_unique<parallel::Executor>(execution_.threads == 0 ? 0 : slots_);

  sums_.plan(problem_.gradient, columns_, kernels_.gradient, slots_);

  std::int64_t floats = columns_.query_folds() * kGradientRows * (p.d_v() + 1);
  if (bias_tasks > 0) floats = std::max(floats, kSpan * kGradientRows);
  std::size_t sums = bytes_of(floats);
  if (has_columns()) sums = std::max(sums, round_up(sums_.slot_bytes()));
  kernel_scratch_bytes_ = round_up(std::max(kernel_.scratch_bytes(problem_),
                                            kernels_.gradient.scratch_bytes(problem_.gradient)) +
                                   64);
  slot_bytes_ = kernel_scratch_bytes_ + sums + 64;
}

// d_bias that sums nothing up is written on the way.
bool TangentPlan::has_columns() const {
  const GradientProblem& g = problem_.gradient;
  return g.d_query.defined() || g.d_key.defined() || g.d_value.defined() ||
         (g.d_bias.defined() && bias_is_full(g));
}

void TangentPlan::plan_float64() {
  const Problem& p = problem_.gradient.forward;
  // Sums over several key heads are added by one task, in order.
  const bool one = problem_.gradient.d_bias.defined() || problem_.gradient.d_sinks.defined();
  tasks_ = one ? 1 : p.sequences * p.key_heads();
  const int threads = execution_.threads == 0 ? parallel::available_threads() : execution_.threads;
  slots_ = static_cast<int>(std::clamp<std::int64_t>(tasks_, 1, threads));
  executor_ = std::make_unique<parallel::Executor>(execution_.threads == 0 ? 0 : slots_);
  slot_bytes_ = round_up(reference::tangent_scratch(problem_) * sizeof(double));
}

Status TangentPlan::allocate_memory() {
  const bool is_float64 = problem_.gradient.forward.is_float64();
  const std::int64_t shared = has_columns() && !is_float64 ? sums_.shared_floats() : 0;
  const std::size_t bytes = 5 * bytes_of(columns_.rows()) + bytes_of(shared) +
                            static_cast<std::size_t>(slots_) * slot_bytes_ + 64;
  if (!memory_) memory_.reset(new (std::nothrow) std::byte[bytes]);
  if (!memory_) {
    return {StatusCode::kOutOfMemory,
            "no memory for a workspace of " + std::to_string(bytes) + " bytes"};
  }
  Scratch scratch(memory_.get());
  for (float** numbers : {&m_, &l_, &lse_, &d_, &d_tangent_}) {
    *numbers = scratch.floats(columns_.rows());
  }
  shared_ = scratch.floats(shared);
  slot_memory_ = reinterpret_cast<std::byte*>(scratch.floats(0));
  return {};
}

// ---- Running ------------------------------------------------------------------------------------

Status TangentPlan::run(const std::atomic<bool>* stop) {
  if (Status s = allocate_memory(); !s.ok()) return s;
  control_.stop = stop;
  predicate_failed_ = false;
  progress_.start(tasks_);
  if (Status s = forward_.run(stop); !s.ok()) return s;
  {
    const FloatEnvironment environment;
    clear_sums(problem_.gradient);
  }
  if (problem_.gradient.forward.is_float64()) {
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

void TangentPlan::run_float64() {
  const Problem& p = problem_.gradient.forward;
  const auto key_head = [&](std::int64_t n, int slot) {
    const Sequence sequence = p.sequence(n / p.key_heads());
    reference::key_head_tangents(
        problem_, sequence, n % p.key_heads(),
        {reinterpret_cast<double*>(slot_scratch(slot)), reference::tangent_scratch(problem_)});
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

void TangentPlan::run_float32() {
  prepare_rows();
  run_tasks(*executor_, control_, columns_.tiles(),
            [&](std::int64_t task, int slot) { run_tile(task, slot); });
  if (has_columns()) {
    sums_.start(shared_);
    run_tasks(*executor_, control_, columns_.columns(),
              [&](std::int64_t task, int slot) { run_column(task, slot); });
  }
  run_tasks(*executor_, control_, BiasSums(problem_.gradient, columns_).tasks(),
            [&](std::int64_t task, int slot) { run_bias(task, slot); });
  const FloatEnvironment environment;
  if (problem_.gradient.d_sinks.defined() && !control_.cancelled()) run_sinks();
}

// m and l of all rows.
void TangentPlan::prepare_rows() {
  const GradientProblem& g = problem_.gradient;
  for (const KeyHead& at : columns_.key_heads()) {
    for (std::int64_t n = 0; n < g.forward.group() * at.sequence.queries; ++n) {
      const std::int64_t head = at.head * g.forward.group() + n / at.sequence.queries;
      const std::int64_t row = at.sequence.query_begin + n % at.sequence.queries;
      const auto number = [&](const TensorView& view) {
        return load_float(view, offset_of(view, at.sequence.buffer, head, row, 0));
      };
      float& m = m_[at.first_row + n];
      m = number(g.row_max);
      // With the LSE in place of m, the weight is exp(s - lse).
      const float from_lse = m == -kInfinity ? 0.0f : 1.0f;
      l_[at.first_row + n] = g.row_sum.defined() ? number(g.row_sum) : from_lse;
    }
  }
}

GradientTile TangentPlan::tile_of(const KeyHead& at, const RowTile& rows) const {
  const std::int64_t first = columns_.place_of(at, rows);
  return {rows, m_ + first, l_ + first, d_ + first};
}

TangentTile TangentPlan::with_tangents(const KeyHead& at, const RowTile& rows) const {
  const std::int64_t first = columns_.place_of(at, rows);
  return {tile_of(at, rows), lse_ + first, d_tangent_ + first};
}

// ---- Tiles of query rows ------------------------------------------------------------------------

void TangentPlan::run_tile(std::int64_t task, int slot) {
  const KeyHead& at = columns_.key_heads()[static_cast<std::size_t>(columns_.head_of_tile(task))];
  const std::int64_t n = task - at.first_tile;
  const RowTile rows = columns_.rows_of(at, n / at.tiles, n % at.tiles);
  const GradientTile tile = tile_of(at, rows);
  const float* const out = move_forward(at, tile, slot);
  if (control_.cancelled()) return;
  const std::int64_t first = at.sequence.query_begin + rows.queries[0];
  if (problem_.out.defined()) {
    kernels_.gradient.write_lanes(problem_.out, at.sequence.buffer, rows.heads[0], first, rows.rows,
                                  out, 1.0f, slot_scratch(slot));
  }
  const std::int64_t place = columns_.place_of(at, rows);
  for (int r = 0; r < rows.rows && problem_.lse.defined(); ++r) {
    store_result(problem_.lse,
                 offset_of(problem_.lse, at.sequence.buffer, rows.heads[r], first + r, 0),
                 lse_[place + r]);
  }
  progress_.task_done();
}

// Leaves what is known of the rows in lse_, d_ and d_tangent_, and returns the tangent of out,
// [d_v][kGradientRows].
float* TangentPlan::move_forward(const KeyHead& at, const GradientTile& tile, int slot) {
  const std::int64_t out_size = problem_.gradient.forward.d_v() * kGradientRows;
  const auto in_array = [&](float* array) { return ForwardSums{array, array + out_size}; };
  SumFold sums(Scratch(slot_sums(slot)).floats(0), out_size + kGradientRows);
  for (std::int64_t column = 0; column < at.columns; ++column) {
    if (!columns_.touches(at, tile.rows.queries[0] / kGradientRows, column)) continue;
    kernel_.forward_span(problem_, tile, columns_.keys_of(at, column), in_array(sums.start(column)),
                         slot_scratch(slot), control_);
  }
  const ForwardSums all = in_array(sums.finish());
  const std::int64_t place = columns_.place_of(at, tile.rows);
  const bool of_gradients = problem_.of_gradients();
  kernel_.finish_forward(problem_, tile, all, of_gradients ? d_ + place : nullptr,
                         of_gradients ? d_tangent_ + place : nullptr, slot_scratch(slot));
  std::copy(all.lse, all.lse + tile.rows.rows, lse_ + place);
  return all.out;
}

// ---- The others ---------------------------------------------------------------------------------

void TangentPlan::run_column(std::int64_t task, int slot) {
  std::byte* const scratch = slot_scratch(slot);
  sums_.run(task, {scratch, slot_sums(slot)}, control_,
            [&](const KeyHead& at, const RowTile& rows, KeyRange keys, const SpanSums& sums) {
              kernel_.add_span(problem_, with_tangents(at, rows), keys, sums, scratch, control_);
            });
  progress_.task_done();
}

void TangentPlan::run_bias(std::int64_t task, int slot) {
  float* const numbers = Scratch(slot_sums(slot)).floats(0);
  const BiasSums bias(problem_.gradient, columns_);
  bias.run(task, [&](const KeyHead& at, const RowTile& rows, KeyRange columns) {
    for (std::int64_t column = columns.begin; column < columns.end; ++column) {
      if (control_.cancelled()) return;
      if (!columns_.touches(at, rows.queries[0] / kGradientRows, column)) continue;
      const KeyRange keys = columns_.keys_of(at, column);
      SpanSums sums{};
      sums.gradients = numbers;
      kernel_.add_span(problem_, with_tangents(at, rows), keys, sums, slot_scratch(slot), control_);
      bias.add(at, rows, keys, numbers);
    }
  });
}

void TangentPlan::run_sinks() {
  const GradientProblem& g = problem_.gradient;
  const Problem& p = g.forward;
  for (std::int64_t h = 0; h < p.query_heads(); ++h) {
    const float sink = p.options.sinks[h];
    const float sink_moves =
        problem_.sinks.defined() ? load_float(problem_.sinks, h * problem_.sinks.strides[0]) : 0.0f;
    float total = 0.0f;
    for (std::int64_t b = 0; b < p.sequences && sink != -kInfinity; ++b) {
      const KeyHead& at = columns_.key_head(b, p.key_head(h));
      const std::int64_t first = at.first_row + h % p.group() * at.sequence.queries;
      total = total + sum_over_rows(at.sequence.queries, [&](std::int64_t i) {
                const auto of_row = [&](const TensorView& view) {
                  const std::int64_t row = at.sequence.query_begin + i;
                  return view.defined()
                             ? load_float(view, offset_of(view, at.sequence.buffer, h, row, 0))
                             : 0.0f;
                };
                const float weight = exact::exp(sink - m_[first + i]) / l_[first + i];
                const float weight_moves = weight * (sink_moves - lse_[first + i]);
                const float e = (0.0f - d_[first + i]) + of_row(g.d_lse);
                const float e_moves = (0.0f - d_tangent_[first + i]) + of_row(problem_.d_lse);
                return exact::fma(weight_moves, e, weight * e_moves);
              });
    }
    store_result(g.d_sinks, h * g.d_sinks.strides[0], total);
  }
}

}  // namespace qkv
