// The work of a backward pass: what is known of each row, and the columns.
#include <algorithm>
#include <limits>

#include "kernels/attention/scratch.h"
#include "plan/gradient_plan.h"
#include "tensor/element.h"

namespace qkv {

// ---- Rows ---------------------------------------------------------------------------------------

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

// ---- Columns ------------------------------------------------------------------------------------

bool BackwardPlan::touches_any(const KeyHead& at, std::int64_t tile) const {
  for (std::int64_t column = 0; column < at.columns; ++column) {
    if (columns_.touches(at, tile, column)) return true;
  }
  return false;
}

void BackwardPlan::wait_until(const std::atomic<std::int64_t>& passed, std::int64_t steps) const {
  for (int tries = 0; passed.load(std::memory_order_acquire) < steps && !control_.cancelled();
       ++tries) {
    if (tries > 64) parallel::yield();
  }
}

void BackwardPlan::write_d_query(const KeyHead& at, const RowTile& rows, const float* sums,
                                 std::byte* scratch) {
  kernel_.write_lanes(problem_.d_query, at.sequence.buffer, rows.heads[0],
                      at.sequence.query_begin + rows.queries[0], rows.rows, sums,
                      problem_.forward.scale, scratch);
}

void BackwardPlan::run_column(std::int64_t task, int slot) {
  const Problem& p = problem_.forward;
  const std::int64_t n_head = columns_.head_of_column(task);
  const KeyHead& at = columns_.key_heads()[static_cast<std::size_t>(n_head)];
  const std::int64_t column = task - at.first_column;
  std::atomic<std::int64_t>& passed = passed_[static_cast<std::size_t>(task)];
  const KeyRange keys = columns_.keys_of(at, column);
  const std::int64_t count = std::max<std::int64_t>(0, keys.end - keys.begin);

  std::byte* const scratch = slot_scratch(slot);
  Scratch memory(scratch + kernel_scratch_bytes_);
  float* const d_query = memory.floats(kGradientRows * p.d_qk());
  const std::int64_t key_stride = row_stride(p.d_qk()), value_stride = row_stride(p.d_v());
  const std::int64_t size = count * (key_stride + value_stride);
  float* const fold_memory =
      memory.floats(columns_.key_folds() * columns_.span_keys() * (key_stride + value_stride));
  float* const total = fold_memory + columns_.key_folds() * size;  // of the heads of a group

  const bool folds = at.columns > 1;
  const std::int64_t steps = p.group() * at.tiles;
  SumFold* query_sums = nullptr;
  if (folds) {
    // The memory is that of an earlier key head, which must be done with it.
    query_sums = query_sums_.data() + n_head % heads_at_once_ * fold_tiles_;
    for (std::int64_t before = n_head - heads_at_once_; before >= 0; before -= heads_at_once_) {
      const KeyHead& other = columns_.key_heads()[static_cast<std::size_t>(before)];
      if (other.columns == 1) continue;
      for (std::int64_t c = 0; c < other.columns; ++c) {
        wait_until(passed_[static_cast<std::size_t>(other.first_column + c)],
                   p.group() * other.tiles);
      }
      break;
    }
  }
  float* result = nullptr;
  for (std::int64_t head = 0; head < p.group(); ++head) {
    SumFold sums(fold_memory, size);
    std::int64_t span = -1;
    float* of_span = nullptr;
    for (std::int64_t tile = 0; tile < at.tiles && !control_.cancelled(); ++tile) {
      const std::int64_t step = head * at.tiles + tile;
      const bool touched = columns_.touches(at, tile, column);
      const RowTile rows = columns_.rows_of(at, head, tile);
      if (touched) {
        if (tile * kGradientRows / kSpan != span) {
          span = tile * kGradientRows / kSpan;
          of_span = sums.start(span);
        }
        const SpanSums where{problem_.d_query.defined() ? d_query : nullptr,
                             problem_.d_key.defined() ? of_span : nullptr,
                             problem_.d_value.defined() ? of_span + count * key_stride : nullptr,
                             nullptr};
        kernel_.add_span(problem_, with_numbers(at, rows), keys, where, scratch, control_);
      }
      if (problem_.d_query.defined()) {
        if (!folds) {
          if (!touched) std::fill(d_query, d_query + kGradientRows * p.d_qk(), 0.0f);
          write_d_query(at, rows, d_query, scratch);
        } else {
          join_d_query(at, rows, column, touched, query_sums[step], d_query, scratch, step);
        }
      }
      passed.store(step + 1, std::memory_order_release);
    }
    if (p.group() == 1) {
      result = sums.finish();
    } else {
      const float* of_head = sums.finish();
      for (std::int64_t n = 0; n < size; ++n) {
        total[n] = head == 0 ? of_head[n] : total[n] + of_head[n];
      }
      result = total;
    }
  }
  passed.store(steps, std::memory_order_release);
  if (count > 0 && result != nullptr && !control_.cancelled()) {
    const std::int64_t first = at.sequence.key_row(keys.begin);
    if (problem_.d_key.defined()) {
      kernel_.write_rows(problem_.d_key, at.sequence.buffer, at.head, first, count, result,
                         key_stride, p.scale);
    }
    if (problem_.d_value.defined()) {
      kernel_.write_rows(problem_.d_value, at.sequence.buffer, at.head, first, count,
                         result + count * key_stride, value_stride, p.dropout_factor);
    }
  }
  progress_.task_done();
}

// Adds what a column gives to d_query of a tile to what those before it gave. The last one that
// touches the tile writes the sum; a tile that none touches is the first one's.
void BackwardPlan::join_d_query(const KeyHead& at, const RowTile& rows, std::int64_t column,
                                bool touched, SumFold& sums, float* partial, std::byte* scratch,
                                std::int64_t step) {
  const std::int64_t tile = rows.queries[0] / kGradientRows;
  const std::int64_t size = kGradientRows * problem_.forward.d_qk();
  if (!touched) {
    if (column != 0 || touches_any(at, tile)) return;
    std::fill(partial, partial + size, 0.0f);
    write_d_query(at, rows, partial, scratch);
    return;
  }
  if (columns_.touches(at, tile, column - 1)) {
    wait_until(passed_[static_cast<std::size_t>(at.first_column + column - 1)], step + 1);
    if (control_.cancelled()) return;
  } else {
    sums.restart();
  }
  float* of_column = sums.start(column);
  std::copy(partial, partial + size, of_column);
  if (!columns_.touches(at, tile, column + 1)) write_d_query(at, rows, sums.finish(), scratch);
}

}  // namespace qkv
