#include "plan/columns.h"

#include <algorithm>

#include "plan/sum_fold.h"

namespace qkv {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

Columns::Columns(const Problem& p) : p_(&p) {
  std::int64_t query_spans = 1;
  for (std::int64_t b = 0; b < p.sequences; ++b) {
    const Sequence sequence = p.sequence(b);
    const std::int64_t tiles = divide_up(sequence.queries, kGradientRows);
    for (std::int64_t head = 0; head < p.key_heads(); ++head) {
      KeyHead at{sequence, head, columns_, 1, rows_, tiles_, tiles};
      at.columns = std::max<std::int64_t>(1, divide_up(sequence.end_key, kSpan));
      columns_ += at.columns;
      rows_ += p.group() * sequence.queries;
      tiles_ += p.group() * tiles;
      key_heads_.push_back(at);
      span_keys_ = std::max(span_keys_, std::min(sequence.end_key, kSpan));
      query_spans = std::max(query_spans, divide_up(sequence.queries, kSpan));
      if (at.columns == 1) continue;
      // A window's columns may begin anywhere, and may be few.
      const std::int64_t from_0 = SumFold::at_most(0, at.columns);
      query_folds_ = std::max(query_folds_, p.options.window.left
                                                ? std::max(from_0, SumFold::at_most(1, at.columns))
                                                : from_0);
    }
  }
  // Causal columns begin where their keys do, at any span of queries.
  key_folds_ = std::max(SumFold::at_most(0, query_spans), SumFold::at_most(1, query_spans));
}

std::int64_t Columns::head_of_column(std::int64_t column) const {
  const auto after =
      std::upper_bound(key_heads_.begin(), key_heads_.end(), column,
                       [](std::int64_t c, const KeyHead& at) { return c < at.first_column; });
  return after - key_heads_.begin() - 1;
}

std::int64_t Columns::head_of_tile(std::int64_t tile) const {
  const auto after =
      std::upper_bound(key_heads_.begin(), key_heads_.end(), tile,
                       [](std::int64_t t, const KeyHead& at) { return t < at.first_tile; });
  return after - key_heads_.begin() - 1;
}

const KeyHead& Columns::key_head(std::int64_t sequence, std::int64_t head) const {
  return key_heads_[static_cast<std::size_t>(sequence * p_->key_heads() + head)];
}

RowTile Columns::rows_of(const KeyHead& at, std::int64_t head, std::int64_t tile) const {
  RowTile rows;
  rows.sequence = at.sequence;
  rows.key_head = at.head;
  const std::int64_t first = tile * kGradientRows;
  const std::int64_t end = std::min(first + kGradientRows, at.sequence.queries);
  for (std::int64_t i = first; i < end; ++i) rows.add(at.head * p_->group() + head, i);
  return rows;
}

std::int64_t Columns::place_of(const KeyHead& at, const RowTile& rows) const {
  const std::int64_t head = rows.heads[0] - at.head * p_->group();
  return at.first_row + head * at.sequence.queries + rows.queries[0];
}

KeyRange Columns::keys_of(const KeyHead& at, std::int64_t column) const {
  return {column * kSpan, std::min((column + 1) * kSpan, at.sequence.end_key)};
}

bool Columns::touches(const KeyHead& at, std::int64_t tile, std::int64_t column) const {
  if (column < 0 || column >= at.columns) return false;
  const std::int64_t first = tile * kGradientRows;
  const std::int64_t last = std::min(first + kGradientRows, at.sequence.queries) - 1;
  const KeyRange a = p_->visible_keys(at.sequence, at.sequence.position(first));
  const KeyRange b = p_->visible_keys(at.sequence, at.sequence.position(last));
  const KeyRange keys = keys_of(at, column);
  return std::max(keys.begin, a.begin) < std::min(keys.end, b.end);
}

}  // namespace qkv
