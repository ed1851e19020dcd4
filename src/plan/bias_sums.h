// Sums of the gradients of pairs over the dimensions in which a bias was broadcast, or of their
// tangents: a task has all pairs that an element sums up, and adds them in the order b, h, i, j.
#ifndef QKV_PLAN_BIAS_SUMS_H_
#define QKV_PLAN_BIAS_SUMS_H_

#include <algorithm>
#include <cstdint>

#include "plan/columns.h"

namespace qkv {

class BiasSums {
 public:
  BiasSums(const GradientProblem& g, const Columns& columns) : g_(g), columns_(columns) {}

  // 0 if there is no d_bias, or none that sums up.
  std::int64_t tasks() const {
    if (!g_.d_bias.defined() || bias_is_full(g_)) return 0;
    std::int64_t tasks = 1;
    for (int axis = 0; axis < kMaxRank; ++axis) tasks *= is_shared(axis) ? 1 : pieces(axis);
    return tasks;
  }

  // Calls f(key head, rows, the range of its columns) in order; it adds these pairs by add().
  template <class F>
  void run(std::int64_t task, F f) const {
    KeyRange at_pieces[kMaxRank];
    for (int axis = kMaxRank - 1; axis >= 0; --axis) {
      const std::int64_t count = pieces(axis);
      at_pieces[axis] = {0, count};
      if (is_shared(axis)) continue;
      at_pieces[axis] = {task % count, task % count + 1};
      task /= count;
    }
    const Problem& p = g_.forward;
    for (std::int64_t b = at_pieces[0].begin; b < at_pieces[0].end; ++b) {
      for (std::int64_t h = at_pieces[1].begin; h < at_pieces[1].end; ++h) {
        const KeyHead& at = columns_.key_head(b, p.key_head(h));
        for (std::int64_t t = at_pieces[2].begin; t < std::min(at_pieces[2].end, at.tiles); ++t) {
          const RowTile rows = columns_.rows_of(at, h % p.group(), t);
          const KeyRange range{at_pieces[3].begin, std::min(at_pieces[3].end, at.columns)};
          if (!is_shared(2) || !is_shared(3)) {
            f(at, rows, range);
            continue;
          }
          // All keys of a row come before the next row.
          for (int r = 0; r < rows.rows; ++r) {
            RowTile row;
            row.sequence = rows.sequence;
            row.key_head = rows.key_head;
            row.add(rows.heads[r], rows.queries[r]);
            f(at, row, range);
          }
        }
      }
    }
  }

  // Adds the numbers [key][kGradientRows] of the rows' pairs to d_bias.
  void add(const KeyHead& at, const RowTile& rows, KeyRange keys, const float* numbers) const;

 private:
  // Is the bias broadcast along an axis of the scores?
  bool is_shared(int axis) const {
    return g_.d_bias.extents[axis] > 1 && g_.d_bias.strides[axis] == 0;
  }
  // Pieces of an axis of the scores: sequences, query heads, tiles of queries, spans of keys.
  std::int64_t pieces(int axis) const {
    const std::int64_t extent = g_.d_bias.extents[axis];
    const std::int64_t size = axis == 2 ? kGradientRows : axis == 3 ? kSpan : 1;
    return (extent + size - 1) / size;
  }

  const GradientProblem& g_;
  const Columns& columns_;
};

}  // namespace qkv

#endif  // QKV_PLAN_BIAS_SUMS_H_
