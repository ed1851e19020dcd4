#include "plan/states.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <string>

#include "kernels/attention/tree_fold.h"
#include "kernels/registry.h"
#include "parallel/parallel.h"
#include "plan/isa.h"
#include "plan/progress.h"
#include "problem/checks.h"
#include "problem/overlap.h"
#include "simd/float_environment.h"

namespace qkv {
namespace {

// The largest nodes of the tree that tile the spans [first, end).
std::vector<StateNode> nodes_of(std::int64_t first, std::int64_t end) {
  std::vector<StateNode> nodes;
  while (first < end) {
    std::int64_t spans = 1;
    while (first % (2 * spans) == 0 && first + 2 * spans <= end) spans *= 2;
    nodes.push_back({first, first + spans, {}});
    first += spans;
  }
  return nodes;
}

// Two nodes that are the halves of one.
bool siblings(const StateNode& x, const StateNode& y) {
  const std::int64_t spans = x.end_span - x.first_span;
  return x.end_span == y.first_span && y.end_span - y.first_span == spans &&
         x.first_span % (2 * spans) == 0;
}

// A tile of rows of the flattened [B, Hq, Lq], for finishing: heads of any key head mix.
RowTile flat_tile(const States& s, std::int64_t first_row, std::int64_t rows) {
  RowTile tile;
  tile.sequence = {};
  tile.sequence.buffer = first_row / (s.heads * s.queries);
  tile.key_head = 0;
  for (std::int64_t row = first_row; row < first_row + rows; ++row) {
    tile.add(row / s.queries % s.heads, row % s.queries);
  }
  return tile;
}

Status check_piece(const Problem& p) {
  if (p.first_key < 0 || p.first_key % kSpan != 0) {
    return invalid_argument("first_key: " + std::to_string(p.first_key) +
                            " is not on a span edge; pass a multiple of " + std::to_string(kSpan));
  }
  if (p.first_key > kMaxPosition) {
    return invalid_argument("first_key: " + std::to_string(p.first_key) +
                            " is out of range; pass at most 2^61");
  }
  if (!p.options.query_cu_seqlens.empty() || !p.options.query_lengths.empty()) {
    return unsupported(
        "query_cu_seqlens, query_lengths: a state has one length of queries; make a state for each "
        "sequence");
  }
  if (p.has_dropout()) {
    return unsupported("dropout: a state can't carry its factor; leave it out, or use attention()");
  }
  if (!p.options.sinks.empty()) {
    return invalid_argument("sinks: they join once, at the end; pass them to finish()");
  }
  return {};
}

Status compute_states(const Problem& p, const ExecutionOptions& execution,
                      const std::atomic<bool>* stop, States& states) {
  const KernelSet* kernels;
  if (Status s = select_kernels(execution.isa, &kernels); !s.ok()) return s;
  const AttentionKernel& kernel = kernels->attention;
  states = {};
  states.rank = p.inputs.query.rank;
  states.batch = p.query.extents[0];
  states.heads = p.query_heads();
  states.queries = p.queries();
  states.d_v = p.d_v();
  states.first_key = p.first_key;
  states.end_key = p.first_key + p.keys();
  states.nodes = nodes_of(states.first_key / kSpan, (states.end_key + kSpan - 1) / kSpan);
  const std::int64_t stride = state_stride(states.d_v);
  for (StateNode& node : states.nodes) {
    node.states.resize(static_cast<std::size_t>(states.rows() * stride));
  }

  const std::int64_t rows_of_head = p.group() * p.queries();
  const std::int64_t tiles_of_head = (rows_of_head + kernel.tile_rows - 1) / kernel.tile_rows;
  const std::int64_t tiles = states.batch * p.key_heads() * tiles_of_head;
  const std::int64_t tasks = static_cast<std::int64_t>(states.nodes.size()) * tiles;
  parallel::Executor executor(execution.threads, tasks);
  const std::size_t slot_bytes = kernel.scratch_bytes(p) + 64;
  const auto memory = std::unique_ptr<std::byte[]>(
      new (std::nothrow) std::byte[slot_bytes * static_cast<std::size_t>(executor.slots())]);
  if (!memory) return {StatusCode::kOutOfMemory, "no memory for a workspace of the state"};
  std::atomic<bool> predicate_failed{false};
  const Control control{execution.cancel, stop, execution.check_block_predicate, &predicate_failed};
  Progress progress(execution.progress);
  const auto task = [&](std::int64_t index, int slot) {
    if (control.cancelled()) return false;
    const FloatEnvironment environment;
    StateNode& node = states.nodes[index / tiles];
    const std::int64_t tile = index % tiles, head = tile / tiles_of_head;
    const std::int64_t first = tile % tiles_of_head * kernel.tile_rows;
    RowTile rows;
    rows.sequence = p.sequence(head / p.key_heads());
    rows.key_head = head % p.key_heads();
    for (std::int64_t r = first; r < std::min(first + kernel.tile_rows, rows_of_head); ++r) {
      rows.add(rows.key_head * p.group() + r / p.queries(), r % p.queries());
    }
    // Rows of a group follow each other in [B, Hq, Lq].
    kernel.states(p, &rows, 1, {node.first_span * kSpan, node.end_span * kSpan},
                  node.states.data() + (head * rows_of_head + first) * stride,
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
  if (control.cancelled()) return {StatusCode::kCancelled, "the call was cancelled"};
  if (predicate_failed) {
    return invalid_argument("block_predicate: it contradicts mask_mod; make them agree");
  }
  progress.finish();
  return {};
}

// Joins `right`, whose keys begin where those of `left` end, to `left`.
void append_states(States& left, const States& right, const AttentionKernel& kernel) {
  const FloatEnvironment environment;
  for (const StateNode& node : right.nodes) {
    left.nodes.push_back(node);
    while (left.nodes.size() >= 2) {
      StateNode& x = left.nodes[left.nodes.size() - 2];
      const StateNode& y = left.nodes.back();
      if (!siblings(x, y)) break;
      kernel.merge(x.states.data(), y.states.data(), left.rows(), left.d_v);
      x.end_span = y.end_span;
      left.nodes.pop_back();
    }
  }
  left.end_key = right.end_key;
}

}  // namespace

Status compute_states(const AttentionInputs& inputs, std::int64_t first_key,
                      const AttentionOptions& options, const ExecutionOptions& execution,
                      const std::atomic<bool>* stop, States& states) {
  const FloatEnvironment environment;
  Problem problem;
  problem.inputs = inputs;
  problem.options = options;
  problem.first_key = first_key;
  if (Status s = check_piece(problem); !s.ok()) return s;
  if (Status s = validate(problem); !s.ok()) return s;
  if (problem.is_float64()) {
    return unsupported("query: float64 inputs have no states; convert them to float32");
  }
  return compute_states(problem, execution, stop, states);
}

Status merge_states(States& states, const States& other) {
  if (states.rows() != other.rows() || states.d_v != other.d_v || states.heads != other.heads ||
      states.batch != other.batch) {
    const auto shape = [](const States& s) {
      const std::int64_t extents[] = {s.batch, s.heads, s.queries, s.d_v};
      return shape_string(TensorView(nullptr, DType::kFloat32, extents));
    };
    return invalid_argument("other: its rows " + shape(other) + " are not those of this state, " +
                            shape(states) + "; merge states of the same queries");
  }
  const bool after = other.first_key == states.end_key;
  if (!after && other.end_key != states.first_key) {
    return invalid_argument(
        "other: its keys " + std::to_string(other.first_key) + " to " +
        std::to_string(other.end_key) + " do not lie right beside this state's " +
        std::to_string(states.first_key) + " to " + std::to_string(states.end_key) +
        "; merge neighbours that meet on a span edge");
  }
  const KernelSet* kernels;
  if (Status s = select_kernels(Isa::kBest, &kernels); !s.ok()) return s;
  if (after) {
    append_states(states, other, kernels->attention);
    return {};
  }
  States left = other;
  append_states(left, states, kernels->attention);
  states = std::move(left);
  return {};
}

namespace {

Status check_finish(const States& s, const AttentionOutputs& outputs,
                    std::span<const float> sinks) {
  const std::int64_t all[] = {s.batch, s.heads, s.queries, s.d_v};
  const auto check = [&](const char* name, const MutableTensorView& view,
                         std::span<const std::int64_t> shape) -> Status {
    if (!view.defined()) return {};
    if (Status status = check_view(name, view); !status.ok()) return status;
    const TensorView wanted(nullptr, DType::kFloat32, shape);
    if (shape_string(view) != shape_string(wanted)) {
      return invalid_argument(std::string(name) + ": shape " + shape_string(view) +
                              " does not fit the state's rows; it must be " + shape_string(wanted));
    }
    if (Status status = check_pointer(name, view); !status.ok()) return status;
    if (overlaps_itself(view)) {
      return invalid_argument(std::string(name) +
                              ": its elements share memory by their strides; "
                              "pass an output without overlap");
    }
    return {};
  };
  const auto rank = static_cast<std::size_t>(s.rank);
  if (Status status = check("out", outputs.out, std::span(all).last(rank)); !status.ok()) {
    return status;
  }
  const std::pair<const char*, const MutableTensorView*> numbers[] = {
      {"lse", &outputs.lse}, {"row_max", &outputs.row_max}, {"row_sum", &outputs.row_sum}};
  for (const auto& [name, view] : numbers) {
    if (Status status = check(name, *view, std::span(all).first(3).last(rank - 1)); !status.ok()) {
      return status;
    }
    if (view->defined() && view->dtype != DType::kFloat32) {
      return invalid_argument(std::string(name) + ": type " + std::string(name_of(view->dtype)) +
                              " can't hold it; pass float32");
    }
  }
  if (outputs.out.defined() &&
      (!is_floating(outputs.out.dtype) || outputs.out.dtype == DType::kFloat64)) {
    return invalid_argument("out: type " + std::string(name_of(outputs.out.dtype)) +
                            " can't hold it; pass float32, float16 or bfloat16");
  }
  if (outputs.weights.defined()) {
    return unsupported("weights: a state keeps none; ask attention() for them");
  }
  for (std::size_t n = 0; n < std::size(numbers); ++n) {
    const auto share = [&](const char* other, const MutableTensorView& view) -> Status {
      if (!overlap(view, *numbers[n].second)) return {};
      return invalid_argument(std::string(other) + " and " + numbers[n].first +
                              " share memory; pass outputs of their own");
    };
    if (Status status = share("out", outputs.out); !status.ok()) return status;
    for (std::size_t k = 0; k < n; ++k) {
      if (Status status = share(numbers[k].first, *numbers[k].second); !status.ok()) return status;
    }
  }
  return check_sinks(sinks, s.heads);
}

}  // namespace

Status finish_states(const States& s, const AttentionOutputs& outputs,
                     std::span<const float> sinks) {
  if (Status status = check_finish(s, outputs, sinks); !status.ok()) return status;
  const KernelSet* kernels;
  if (Status status = select_kernels(Isa::kBest, &kernels); !status.ok()) return status;
  const AttentionKernel& kernel = kernels->attention;
  const FloatEnvironment environment;
  RowResults results{outputs.out, outputs.lse, outputs.row_max, outputs.row_sum};
  if (results.out.defined()) results.out = to_rank4(results.out);
  for (MutableTensorView* view : {&results.lse, &results.row_max, &results.row_sum}) {
    if (view->defined()) *view = to_rank4(with_unit_axis(*view));
  }

  // A copy of the rows of each node, merged along the tree as if absent spans were empty.
  const std::int64_t stride = state_stride(s.d_v);
  const std::int64_t rows_of_batch = s.heads * s.queries;
  for (std::int64_t first = 0; first < s.rows();) {
    const std::int64_t rows =
        std::min<std::int64_t>(kernel.tile_rows, rows_of_batch - first % rows_of_batch);
    const auto floats = static_cast<std::size_t>(rows * stride);
    std::vector<std::vector<float>> stack;
    TreeFold fold;
    for (const StateNode& node : s.nodes) {
      for (int n = fold.merges_before(node.first_span); n > 0; --n) {
        kernel.merge(stack[stack.size() - 2].data(), stack.back().data(), rows, s.d_v);
        stack.pop_back();
      }
      fold.push(node.first_span, node.end_span - 1);
      const float* from = node.states.data() + first * stride;
      stack.emplace_back(from, from + floats);
    }
    for (; stack.size() > 1; stack.pop_back()) {
      kernel.merge(stack[stack.size() - 2].data(), stack.back().data(), rows, s.d_v);
    }
    if (stack.empty()) {  // no keys at all
      stack.emplace_back(floats, 0.0f);
      for (std::int64_t r = 0; r < rows; ++r) {
        stack[0][static_cast<std::size_t>(r * stride)] = -std::numeric_limits<float>::infinity();
      }
    }
    const RowTile tile = flat_tile(s, first, rows);
    kernel.add_sinks(tile, sinks, stack[0].data(), s.d_v);
    kernel.finish(results, tile, stack[0].data(), s.d_v);
    first += rows;
  }
  return {};
}

}  // namespace qkv
