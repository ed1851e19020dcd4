#include "plan/plan.h"

#include <algorithm>
#include <limits>
#include <new>
#include <string>

#include "kernels/attention/tree_fold.h"
#include "kernels/reference/reference.h"
#include "plan/isa.h"
#include "plan/run_tasks.h"
#include "simd/float_environment.h"
#include "tensor/element.h"

namespace qkv {
namespace {

// With fewer tiles than this the keys are cut into chunks, so that a long sequence with few rows
// uses all cores. A chunk is a node of the contract's tree, which keeps the bits.
constexpr std::int64_t kEnoughTasks = 32;

constexpr std::int64_t kFloat64Rows = 16;  // rows of a float64 task

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Status Plan::make(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                  const AttentionOptions& options, const ExecutionOptions& execution,
                  std::unique_ptr<Plan>& plan) {
  // The scale is a rounded number too: the caller's rounding mode must not reach it.
  const FloatEnvironment environment;
  Problem problem;
  problem.inputs = inputs;
  problem.outputs = outputs;
  problem.options = options;
  if (Status s = validate(problem); !s.ok()) return s;
  if (execution.threads < 0) {
    return invalid_argument("threads: " + std::to_string(execution.threads) +
                            " is negative; pass 0 for all of them, or a number");
  }
  const KernelSet* kernels;
  if (Status s = select_kernels(execution.isa, &kernels); !s.ok()) return s;
  plan.reset(new Plan(std::move(problem), execution, *kernels));
  return {};
}

Plan::Plan(Problem problem, const ExecutionOptions& execution, const KernelSet& kernels)
    : problem_(std::move(problem)),
      execution_(execution),
      kernel_(kernels.attention),
      progress_(execution_.progress) {
  control_.cancel = execution.cancel;
  control_.check_block_predicate = execution.check_block_predicate;
  control_.predicate_failed = &predicate_failed_;
  description_.isa = kernel_.isa;
  const TensorView weights = problem_.weights;
  description_.weights_bytes =
      weights.defined() ? static_cast<std::size_t>(weights.size()) * size_of(weights.dtype) : 0;
  if (problem_.is_float64()) {
    plan_float64();
  } else {
    plan_float32();
  }
}

// Nothing is computed for an output without elements, however many rows it has.
bool Plan::has_results() const { return problem_.row_results().any(); }

// Threads and workspace: a slot of scratch memory for each thread that can find work.
void Plan::plan_slots(std::int64_t tasks_at_once, std::size_t other_bytes) {
  int threads = execution_.threads == 0 ? parallel::available_threads() : execution_.threads;
  threads = static_cast<int>(std::clamp<std::int64_t>(tasks_at_once, 1, threads));
  // 0 keeps the call in the caller's arena.
  executor_ = std::make_unique<parallel::Executor>(execution_.threads == 0 ? 0 : threads);
  slots_ = threads;
  description_.threads = threads;
  description_.workspace_bytes = static_cast<std::size_t>(slots_) * slot_bytes_ + other_bytes + 64;
}

void Plan::plan_float32() {
  const Problem& p = problem_;
  std::int64_t longest = 0;
  tiles_before_.assign(1, 0);
  for (std::int64_t b = 0; b < p.sequences; ++b) {
    const Sequence sequence = p.sequence(b);
    tiles_ += p.key_heads() * divide_up(rows_of(sequence), kernel_.tile_rows);
    tiles_before_.push_back(tiles_);
    longest = std::max(longest, sequence.end_key);
  }
  if (!has_results()) tiles_ = 0;
  tiles_at_once_ = std::clamp<std::int64_t>(tiles_ / kEnoughTasks, 1, kTilesAtOnce);
  const std::int64_t tile_tasks = divide_up(tiles_, tiles_at_once_);
  const std::int64_t spans = divide_up(longest, kSpan);
  if (tiles_ > 0 && tiles_ < kEnoughTasks && spans > 1) {
    chunk_spans_ = 1;
    while (tiles_ * divide_up(spans, 2 * chunk_spans_) >= kEnoughTasks) chunk_spans_ *= 2;
    chunks_ = divide_up(spans, chunk_spans_);
  }
  if (p.weights.defined()) {
    weight_tasks_ = p.weights.extents[0] * p.weights.extents[1] *
                    divide_up(p.weights.extents[2], kernel_.tile_rows);
  }

  const auto state_bytes = static_cast<std::size_t>(state_stride(p.d_v())) * sizeof(float);
  const auto tile_rows = static_cast<std::size_t>(kernel_.tile_rows);
  states_bytes_ = round_up(tile_rows * state_bytes);
  slot_bytes_ = static_cast<std::size_t>(tiles_at_once_) * states_bytes_ +
                round_up(kernel_.scratch_bytes(p) + 64);
  const std::size_t chunk_bytes =
      chunk_spans_ == 0 ? 0 : static_cast<std::size_t>(tiles_ * chunks_) * states_bytes_;
  description_.kernel = std::string(kernel_.name) + ", tiles of " +
                        std::to_string(kernel_.tile_rows) + " queries x " + std::to_string(kBlock) +
                        " keys";
  description_.tasks = tile_tasks * chunks_ + weight_tasks_;
  description_.rows_per_tile = kernel_.tile_rows;
  plan_slots(std::max(tile_tasks * chunks_, weight_tasks_), chunk_bytes);
}

void Plan::plan_float64() {
  const Problem& p = problem_;
  if (has_results()) {
    tiles_ = p.sequences * p.query_heads() * divide_up(p.queries(), kFloat64Rows);
  }
  if (p.weights.defined()) {
    weight_tasks_ = p.weights.extents[0] * p.weights.extents[1] * p.weights.extents[2];
  }
  slot_bytes_ = round_up(static_cast<std::size_t>(p.keys()) * sizeof(double));
  description_.kernel = "reference, float64, plain loops";
  description_.isa = Isa::kPortable;
  description_.tasks = tiles_ + weight_tasks_;
  description_.rows_per_tile = 1;
  plan_slots(std::max(tiles_, weight_tasks_), 0);
}

Status Plan::prepare_workspace(std::span<std::byte> workspace) {
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
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  memory_ = memory + (64 - address % 64) % 64;
  return {};
}

Status Plan::run(std::span<std::byte> workspace, const std::atomic<bool>* stop) {
  if (Status s = prepare_workspace(workspace); !s.ok()) return s;
  control_.stop = stop;
  predicate_failed_ = false;
  progress_.start(description_.tasks);
  if (problem_.is_float64()) {
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
  write_dead_rows();
  progress_.finish();
  return {};
}

Status Plan::run_on(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                    std::span<std::byte> workspace, const std::atomic<bool>* stop) {
  // It comes back whatever happens.
  struct Planned {
    ~Planned() { set_memory(problem, memory); }
    Problem& problem;
    Memory memory;
  };
  const Planned planned{problem_, memory_of(problem_)};
  if (Status s = rebind(problem_, inputs, outputs); !s.ok()) return s;
  return run(workspace, stop);
}

// ---- Tiles --------------------------------------------------------------------------------------

// Rows that share one key head: the sequence's queries for each query head of the group.
std::int64_t Plan::rows_of(const Sequence& sequence) const {
  return problem_.group() * sequence.queries;
}

Plan::Place Plan::place_of(std::int64_t tile) const {
  const auto after = std::upper_bound(tiles_before_.begin(), tiles_before_.end(), tile);
  const std::int64_t b = after - tiles_before_.begin() - 1;
  const std::int64_t per_head = divide_up(rows_of(problem_.sequence(b)), kernel_.tile_rows);
  const std::int64_t within = tile - tiles_before_[b];
  return {b, within / per_head, within % per_head * kernel_.tile_rows};
}

void Plan::fill_tile(std::int64_t tile, RowTile& rows) const {
  const Place place = place_of(tile);
  rows.sequence = problem_.sequence(place.sequence);
  rows.key_head = place.key_head;
  const std::int64_t end = std::min(place.first_row + kernel_.tile_rows, rows_of(rows.sequence));
  for (std::int64_t row = place.first_row; row < end; ++row) {
    rows.add(place.key_head * problem_.group() + row / rows.sequence.queries,
             row % rows.sequence.queries);
  }
}

KeyRange Plan::keys_of_chunk(std::int64_t chunk) const {
  const std::int64_t keys = chunk_spans_ * kSpan;
  return {chunk * keys, (chunk + 1) * keys};
}

float* Plan::chunk_states(std::int64_t tile, std::int64_t chunk) {
  std::byte* first = slot_memory(slots_);
  return reinterpret_cast<float*>(first +
                                  static_cast<std::size_t>(tile * chunks_ + chunk) * states_bytes_);
}

void Plan::run_float32() {
  // The last tiles first: with a causal mask they have the most keys, and big tasks last would
  // leave threads idle at the end.
  if (chunk_spans_ == 0) {
    const std::int64_t tasks = divide_up(tiles_, tiles_at_once_);
    run_tasks(*executor_, control_, tasks,
              [&](std::int64_t index, int slot) { run_tiles(tasks - 1 - index, slot); });
  } else {
    run_tasks(*executor_, control_, tiles_ * chunks_,
              [&](std::int64_t index, int slot) { run_chunk(index, slot); });
    run_tasks(*executor_, control_, tiles_, [&](std::int64_t tile, int) { finish_tile(tile); });
  }
  run_tasks(*executor_, control_, weight_tasks_,
            [&](std::int64_t index, int slot) { run_weights(index, slot); });
}

void Plan::run_tiles(std::int64_t task, int slot) {
  const Problem& p = problem_;
  RowTile tiles[kTilesAtOnce];
  const std::int64_t first = task * tiles_at_once_;
  const auto count = static_cast<int>(std::min<std::int64_t>(tiles_at_once_, tiles_ - first));
  for (int n = 0; n < count; ++n) fill_tile(first + n, tiles[n]);
  float* states = slot_states(slot);
  kernel_.states(p, tiles, count, {0, std::numeric_limits<std::int64_t>::max()}, states,
                 slot_scratch(slot), control_);
  for (int n = 0; n < count; ++n) {
    kernel_.add_sinks(tiles[n], p.options.sinks, states, p.d_v());
    kernel_.finish(p.row_results(), tiles[n], states, p.d_v());
    states += tiles[n].rows * state_stride(p.d_v());
  }
  progress_.task_done();
}

void Plan::run_chunk(std::int64_t task, int slot) {
  const std::int64_t tile = task / chunks_, chunk = task % chunks_;
  RowTile rows;
  fill_tile(tile, rows);
  kernel_.states(problem_, &rows, 1, keys_of_chunk(chunk), chunk_states(tile, chunk),
                 slot_scratch(slot), control_);
  progress_.task_done();
}

void Plan::finish_tile(std::int64_t tile) {
  const Problem& p = problem_;
  RowTile rows;
  fill_tile(tile, rows);
  TreeFold fold;
  float* stack[TreeFold::kMaxDepth];
  for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
    const std::int64_t first_span = chunk * chunk_spans_;
    const int merges = fold.merges_before(first_span);
    for (int n = 0; n < merges; ++n) {
      const int top = fold.depth() - 1 - n;
      kernel_.merge(stack[top - 1], stack[top], rows.rows, p.d_v());
    }
    fold.push(first_span, first_span + chunk_spans_ - 1);
    stack[fold.depth() - 1] = chunk_states(tile, chunk);
  }
  for (int top = fold.depth() - 1; top > 0; --top) {
    kernel_.merge(stack[top - 1], stack[top], rows.rows, p.d_v());
  }
  kernel_.add_sinks(rows, p.options.sinks, stack[0], p.d_v());
  kernel_.finish(p.row_results(), rows, stack[0], p.d_v());
}

// Rows that no live query has: output 0, LSE -inf.
void Plan::write_dead_rows() {
  const Problem& p = problem_;
  for (std::int64_t b = 0; b < p.sequences && !p.options.query_lengths.empty(); ++b) {
    const Sequence sequence = p.sequence(b);
    for (std::int64_t head = 0; head < p.query_heads(); ++head) {
      for (std::int64_t i = sequence.queries; i < sequence.query_rows; ++i) {
        for (std::int64_t c = 0; p.out.defined() && c < p.d_v(); ++c) {
          store_result(p.out, offset_of(p.out, b, head, i, c), 0.0f);
        }
        const float kInfinity = std::numeric_limits<float>::infinity();
        const std::pair<const MutableTensorView*, float> numbers[] = {
            {&p.lse, -kInfinity}, {&p.row_max, -kInfinity}, {&p.row_sum, 0.0f}};
        for (const auto& [view, number] : numbers) {
          if (view->defined()) store_result(*view, offset_of(*view, b, head, i, 0), number);
        }
      }
    }
  }
}

// ---- Weights ------------------------------------------------------------------------------------

void Plan::run_weights(std::int64_t task, int slot) {
  const Problem& p = problem_;
  const WeightsSelection& chosen = p.outputs.selection;
  const std::int64_t heads = p.weights.extents[1], all_rows = p.weights.extents[2];
  const std::int64_t blocks = divide_up(all_rows, kernel_.tile_rows);
  const std::int64_t batch = task / blocks / heads, h = task / blocks % heads;
  const std::int64_t head = chosen.heads.empty() ? h : chosen.heads[h];
  std::int64_t r = task % blocks * kernel_.tile_rows;
  const std::int64_t end = std::min(r + kernel_.tile_rows, all_rows);
  float* states = slot_states(slot);
  while (r < end) {
    // The next rows of one sequence.
    RowTile tile;
    std::int64_t offsets[kMaxTileRows];
    for (; r < end; ++r) {
      const std::int64_t row = chosen.rows.empty() ? r : chosen.rows[r];
      const Sequence sequence = p.sequence_of_row(batch, row);
      if (tile.rows > 0 && sequence.index != tile.sequence.index) break;
      const std::int64_t i = row - sequence.query_begin;
      const std::int64_t offset = offset_of(p.weights, batch, h, r, 0);
      if (i >= sequence.queries) {
        for (std::int64_t j = 0; j < p.keys(); ++j) {
          store_result(p.weights, offset + j * p.weights.strides[3], 0.0f);
        }
        continue;
      }
      tile.sequence = sequence;
      tile.key_head = p.key_head(head);
      offsets[tile.rows] = offset;
      tile.add(head, i);
    }
    if (tile.rows == 0) continue;
    kernel_.states(p, &tile, 1, {0, std::numeric_limits<std::int64_t>::max()}, states,
                   slot_scratch(slot), control_);
    kernel_.add_sinks(tile, p.options.sinks, states, p.d_v());
    kernel_.weights(p, tile, states, offsets, slot_scratch(slot), control_);
  }
  progress_.task_done();
}

// ---- float64 ------------------------------------------------------------------------------------

void Plan::run_float64() {
  const Problem& p = problem_;
  const auto scores = [&](int slot) {
    return std::span(reinterpret_cast<double*>(slot_memory(slot)),
                     static_cast<std::size_t>(p.keys()));
  };
  const std::int64_t blocks = divide_up(p.queries(), kFloat64Rows);
  run_tasks(*executor_, control_, tiles_, [&](std::int64_t task, int slot) {
    const Sequence sequence = p.sequence(task / blocks / p.query_heads());
    const std::int64_t head = task / blocks % p.query_heads();
    const std::int64_t begin = task % blocks * kFloat64Rows;
    const std::int64_t end = std::min(begin + kFloat64Rows, sequence.query_rows);
    for (std::int64_t i = begin; i < end && !control_.cancelled(); ++i) {
      reference::attention_rows(p, sequence, head, i, i + 1, scores(slot));
    }
    progress_.task_done();
  });
  run_tasks(*executor_, control_, weight_tasks_, [&](std::int64_t task, int slot) {
    const std::int64_t all_heads = p.weights.extents[1], all_rows = p.weights.extents[2];
    reference::weights_row(p, task / all_rows / all_heads, task / all_rows % all_heads,
                           task % all_rows, scores(slot));
    progress_.task_done();
  });
}

}  // namespace qkv
