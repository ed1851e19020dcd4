// The gradients that are summed over several heads or rows outside the tree of a head: those of a
// broadcast bias, and of sinks.
#include <algorithm>
#include <limits>

#include "kernels/attention/scratch.h"
#include "kernels/exact/functions.h"
#include "plan/gradient_plan.h"
#include "tensor/element.h"

namespace qkv {

// Is the bias broadcast along an axis of the scores?
bool BackwardPlan::bias_is_shared(int axis) const {
  return problem_.d_bias.extents[axis] > 1 && problem_.d_bias.strides[axis] == 0;
}

// A task has all pairs that an element of d_bias sums up, and adds them in the order b, h, i, j.
std::int64_t BackwardPlan::bias_tasks() const {
  if (!problem_.d_bias.defined() || bias_is_full(problem_)) return 0;
  std::int64_t tasks = 1;
  for (int axis = 0; axis < kMaxRank; ++axis) tasks *= bias_is_shared(axis) ? 1 : bias_pieces(axis);
  return tasks;
}

// Pieces of an axis of the scores: sequences, query heads, tiles of queries, spans of keys.
std::int64_t BackwardPlan::bias_pieces(int axis) const {
  const std::int64_t extent = problem_.d_bias.extents[axis];
  const std::int64_t size = axis == 2 ? kGradientRows : axis == 3 ? kSpan : 1;
  return (extent + size - 1) / size;
}

void BackwardPlan::run_bias(std::int64_t task, int slot) {
  KeyRange pieces[kMaxRank];
  for (int axis = kMaxRank - 1; axis >= 0; --axis) {
    const std::int64_t count = bias_pieces(axis);
    pieces[axis] = {0, count};
    if (bias_is_shared(axis)) continue;
    pieces[axis] = {task % count, task % count + 1};
    task /= count;
  }
  const Problem& p = problem_.forward;
  for (std::int64_t b = pieces[0].begin; b < pieces[0].end; ++b) {
    for (std::int64_t h = pieces[1].begin; h < pieces[1].end; ++h) {
      const KeyHead& at = key_heads_[static_cast<std::size_t>(b * p.key_heads() + p.key_head(h))];
      for (std::int64_t t = pieces[2].begin; t < std::min(pieces[2].end, at.tiles); ++t) {
        const RowTile rows = rows_of(at, h % p.group(), t);
        if (!bias_is_shared(2) || !bias_is_shared(3)) {
          add_to_bias(at, rows, pieces[3], slot);
          continue;
        }
        // All keys of a row come before the next row.
        for (int r = 0; r < rows.rows; ++r) {
          RowTile row;
          row.sequence = rows.sequence;
          row.key_head = rows.key_head;
          row.add(rows.heads[r], rows.queries[r]);
          add_to_bias(at, row, pieces[3], slot);
        }
      }
    }
  }
}

void BackwardPlan::add_to_bias(const KeyHead& at, const RowTile& rows, KeyRange columns, int slot) {
  std::byte* const scratch = slot_scratch(slot);
  float* const gradients = Scratch(scratch + kernel_scratch_bytes_).floats(kSpan * kGradientRows);
  const MutableTensorView& view = problem_.d_bias;
  const std::int64_t tile = rows.queries[0] / kGradientRows;
  for (std::int64_t column = columns.begin; column < std::min(columns.end, at.columns); ++column) {
    if (control_.cancelled()) return;
    if (!touches(at, tile, column)) continue;
    const KeyRange keys = keys_of(at, column);
    SpanSums sums{};
    sums.gradients = gradients;
    kernel_.add_span(problem_, with_numbers(at, rows), keys, sums, scratch, control_);
    for (int r = 0; r < rows.rows; ++r) {
      const std::int64_t offset =
          offset_of(view, at.sequence.buffer, rows.heads[r],
                    at.sequence.query_begin + rows.queries[r], at.sequence.key_row(keys.begin));
      for (std::int64_t key = 0; key < keys.end - keys.begin; ++key) {
        const std::int64_t place = offset + key * view.strides[3];
        store_result(view, place, load_float(view, place) + gradients[key * kGradientRows + r]);
      }
    }
  }
}

void BackwardPlan::run_sinks() {
  const Problem& p = problem_.forward;
  for (std::int64_t h = 0; h < p.query_heads(); ++h) {
    const float sink = p.options.sinks[h];
    float total = 0.0f;
    for (std::int64_t b = 0; b < p.sequences; ++b) {
      if (sink == -std::numeric_limits<float>::infinity()) break;
      const KeyHead& at = key_heads_[static_cast<std::size_t>(b * p.key_heads() + p.key_head(h))];
      const std::int64_t first = at.first_row + h % p.group() * at.sequence.queries;
      float memory[TreeFold::kMaxDepth];
      SumFold sums(memory, 1);
      float* of_span = nullptr;
      float block = 0.0f;
      for (std::int64_t i = 0; i < at.sequence.queries; ++i) {
        if (i % kSpan == 0) of_span = sums.start(i / kSpan);
        const std::int64_t row = at.sequence.query_begin + i;
        const float d_lse =
            load_float(problem_.d_lse, offset_of(problem_.d_lse, at.sequence.buffer, h, row, 0));
        const float weight = exact::exp(sink - m_[first + i]) / l_[first + i];
        block = block + weight * ((0.0f - d_[first + i]) + d_lse);
        if ((i + 1) % kBlock == 0 || i + 1 == at.sequence.queries) {
          *of_span = *of_span + block;
          block = 0.0f;
        }
      }
      total = total + *sums.finish();
    }
    store_result(problem_.d_sinks, h * problem_.d_sinks.strides[0], total);
  }
}

}  // namespace qkv
