#include "plan/column_sums.h"

#include <algorithm>

#include "kernels/attention/scratch.h"
#include "parallel/parallel.h"

namespace qkv {

void ColumnSums::plan(const GradientProblem& g, const Columns& columns,
                      const GradientKernel& kernel, int slots) {
  g_ = &g;
  columns_ = &columns;
  kernel_ = &kernel;
  fold_tiles_ = 0;
  for (const KeyHead& at : columns.key_heads()) {
    if (at.columns > 1) fold_tiles_ = std::max(fold_tiles_, g.forward.group() * at.tiles);
  }
  heads_at_once_ =
      std::min<std::int64_t>(slots + 1, static_cast<std::int64_t>(columns.key_heads().size()));
  passed_ =
      std::make_unique<std::atomic<std::int64_t>[]>(static_cast<std::size_t>(columns.columns()));
  query_sums_.reserve(static_cast<std::size_t>(heads_at_once_ * fold_tiles_));
}

std::size_t ColumnSums::slot_bytes() const {
  const Problem& p = g_->forward;
  const std::int64_t key_arrays = columns_->key_folds() + (p.group() > 1 ? 1 : 0);
  const std::int64_t floats =
      kGradientRows * p.d_qk() +
      key_arrays * columns_->span_keys() * (row_stride(p.d_qk()) + row_stride(p.d_v())) +
      3 * Scratch::kAlignFloats;
  return static_cast<std::size_t>(floats) * sizeof(float);
}

std::int64_t ColumnSums::shared_floats() const {
  return heads_at_once_ * fold_tiles_ * columns_->query_folds() * kGradientRows *
         g_->forward.d_qk();
}

void ColumnSums::start(float* shared) {
  const std::int64_t tile_floats = kGradientRows * g_->forward.d_qk();
  query_sums_.clear();
  for (std::int64_t n = 0; n < heads_at_once_ * fold_tiles_; ++n) {
    query_sums_.emplace_back(shared + n * columns_->query_folds() * tile_floats, tile_floats);
  }
  for (std::int64_t n = 0; n < columns_->columns(); ++n) passed_[static_cast<std::size_t>(n)] = 0;
}

void ColumnSums::run(std::int64_t task, const SlotMemory& memory, const Control& control,
                     const AddSpan& add_span) {
  const GradientProblem& g = *g_;
  const Problem& p = g.forward;
  const std::int64_t n_head = columns_->head_of_column(task);
  const KeyHead& at = columns_->key_heads()[static_cast<std::size_t>(n_head)];
  const Work work{at, task - at.first_column, memory.kernel, control};
  std::atomic<std::int64_t>& passed = passed_[static_cast<std::size_t>(task)];
  const KeyRange keys = columns_->keys_of(at, work.column);
  const std::int64_t count = std::max<std::int64_t>(0, keys.end - keys.begin);

  Scratch scratch(memory.sums);
  float* const d_query = scratch.floats(kGradientRows * p.d_qk());
  const std::int64_t key_stride = row_stride(p.d_qk()), value_stride = row_stride(p.d_v());
  const std::int64_t size = count * (key_stride + value_stride);
  float* const fold_memory = scratch.floats(0);
  float* const total = fold_memory + columns_->key_folds() * size;  // of the heads of a group

  const bool folds = at.columns > 1;
  const std::int64_t steps = p.group() * at.tiles;
  if (folds) wait_for_earlier_head(n_head, control);
  SumFold* const query_sums = query_sums_.data() + n_head % heads_at_once_ * fold_tiles_;
  float* result = nullptr;
  for (std::int64_t head = 0; head < p.group(); ++head) {
    SumFold sums(fold_memory, size);
    std::int64_t span = -1;
    float* of_span = nullptr;
    for (std::int64_t tile = 0; tile < at.tiles && !control.cancelled(); ++tile) {
      const std::int64_t step = head * at.tiles + tile;
      const bool touched = columns_->touches(at, tile, work.column);
      const RowTile rows = columns_->rows_of(at, head, tile);
      if (touched) {
        if (tile * kGradientRows / kSpan != span) {
          span = tile * kGradientRows / kSpan;
          of_span = sums.start(span);
        }
        add_span(at, rows, keys,
                 {g.d_query.defined() ? d_query : nullptr, g.d_key.defined() ? of_span : nullptr,
                  g.d_value.defined() ? of_span + count * key_stride : nullptr, nullptr});
      }
      if (g.d_query.defined() && folds) {
        join_d_query(work, rows, touched, query_sums[step], d_query, step);
      } else if (g.d_query.defined()) {
        if (!touched) std::fill(d_query, d_query + kGradientRows * p.d_qk(), 0.0f);
        write_d_query(work, rows, d_query);
      }
      passed.store(step + 1, std::memory_order_release);
    }
    result = sums.finish();
    if (p.group() == 1) break;
    for (std::int64_t n = 0; n < size; ++n) {
      total[n] = head == 0 ? result[n] : total[n] + result[n];
    }
    result = total;
  }
  passed.store(steps, std::memory_order_release);
  if (count > 0 && result != nullptr && !control.cancelled()) write_keys(work, keys, result);
}

bool ColumnSums::touches_any(const KeyHead& at, std::int64_t tile) const {
  for (std::int64_t column = 0; column < at.columns; ++column) {
    if (columns_->touches(at, tile, column)) return true;
  }
  return false;
}

// Until the column has done so many steps.
void ColumnSums::wait_until(std::int64_t column, std::int64_t steps, const Control& control) const {
  const std::atomic<std::int64_t>& passed = passed_[static_cast<std::size_t>(column)];
  for (int tries = 0; passed.load(std::memory_order_acquire) < steps && !control.cancelled();
       ++tries) {
    if (tries > 64) parallel::yield();
  }
}

// The memory for folds of d_query is that of an earlier key head, which must be done with it.
void ColumnSums::wait_for_earlier_head(std::int64_t n_head, const Control& control) const {
  for (std::int64_t before = n_head - heads_at_once_; before >= 0; before -= heads_at_once_) {
    const KeyHead& other = columns_->key_heads()[static_cast<std::size_t>(before)];
    if (other.columns == 1) continue;
    for (std::int64_t c = 0; c < other.columns; ++c) {
      wait_until(other.first_column + c, g_->forward.group() * other.tiles, control);
    }
    return;
  }
}

// Adds what a column gives to d_query of a tile to what those before it gave. The last one that
// touches the tile writes the sum; a tile that none touches is the first one's.
void ColumnSums::join_d_query(const Work& work, const RowTile& rows, bool touched, SumFold& sums,
                              float* partial, std::int64_t step) const {
  const KeyHead& at = work.at;
  const std::int64_t tile = rows.queries[0] / kGradientRows, column = work.column;
  const std::int64_t size = kGradientRows * g_->forward.d_qk();
  if (!touched) {
    if (column != 0 || touches_any(at, tile)) return;
    std::fill(partial, partial + size, 0.0f);
    write_d_query(work, rows, partial);
    return;
  }
  if (columns_->touches(at, tile, column - 1)) {
    wait_until(at.first_column + column - 1, step + 1, work.control);
    if (work.control.cancelled()) return;
  } else {
    sums.restart();
  }
  float* of_column = sums.start(column);
  std::copy(partial, partial + size, of_column);
  if (!columns_->touches(at, tile, column + 1)) write_d_query(work, rows, sums.finish());
}

void ColumnSums::write_d_query(const Work& work, const RowTile& rows, const float* sums) const {
  const Sequence& sequence = work.at.sequence;
  kernel_->write_lanes(g_->d_query, sequence.buffer, rows.heads[0],
                       sequence.query_begin + rows.queries[0], rows.rows, sums, g_->forward.scale,
                       work.scratch);
}

void ColumnSums::write_keys(const Work& work, KeyRange keys, const float* sums) const {
  const Problem& p = g_->forward;
  const Sequence& sequence = work.at.sequence;
  const std::int64_t first = sequence.key_row(keys.begin), count = keys.end - keys.begin;
  const std::int64_t key_stride = row_stride(p.d_qk()), value_stride = row_stride(p.d_v());
  if (g_->d_key.defined()) {
    kernel_->write_rows(g_->d_key, sequence.buffer, work.at.head, first, count, sums, key_stride,
                        p.scale);
  }
  if (g_->d_value.defined()) {
    kernel_->write_rows(g_->d_value, sequence.buffer, work.at.head, first, count,
                        sums + count * key_stride, value_stride, p.dropout_factor);
  }
}

}  // namespace qkv
