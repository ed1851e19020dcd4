// How backward passes and tangents cut a problem: into tiles of query rows, and into columns, each
// a span of keys of one key head.
#ifndef QKV_PLAN_COLUMNS_H_
#define QKV_PLAN_COLUMNS_H_

#include <cstdint>
#include <vector>

#include "kernels/gradient/kernel.h"

namespace qkv {

// A key head of a sequence, and where its columns and its rows' numbers lie.
struct KeyHead {
  Sequence sequence;
  std::int64_t head;
  std::int64_t first_column, columns;  // one at least, for the rows without keys
  std::int64_t first_row;              // in the arrays of numbers a row
  std::int64_t first_tile;             // of all query heads of all key heads
  std::int64_t tiles;                  // of one query head
};

class Columns {
 public:
  Columns() = default;
  explicit Columns(const Problem& p);  // which must stay where it is

  const std::vector<KeyHead>& key_heads() const { return key_heads_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t rows() const { return rows_; }            // of all query heads
  std::int64_t tiles() const { return tiles_; }          // likewise
  std::int64_t span_keys() const { return span_keys_; }  // keys of a column, at most

  // Arrays that a fold needs at most: of sums over keys, and of sums over queries.
  std::int64_t query_folds() const { return query_folds_; }
  std::int64_t key_folds() const { return key_folds_; }

  std::int64_t head_of_column(std::int64_t column) const;
  std::int64_t head_of_tile(std::int64_t tile) const;
  const KeyHead& key_head(std::int64_t sequence, std::int64_t head) const;

  RowTile rows_of(const KeyHead& at, std::int64_t head, std::int64_t tile) const;
  // The place of the tile's first row in the arrays of numbers a row.
  std::int64_t place_of(const KeyHead& at, const RowTile& rows) const;
  KeyRange keys_of(const KeyHead& at, std::int64_t column) const;
  // May a row of the tile see a key of the column, as far as ranges tell? The columns that a tile
  // touches are neighbours, since positions rise along it.
  bool touches(const KeyHead& at, std::int64_t tile, std::int64_t column) const;

 private:
  const Problem* p_ = nullptr;
  std::vector<KeyHead> key_heads_;
  std::int64_t columns_ = 0, rows_ = 0, tiles_ = 0, span_keys_ = 0;
  std::int64_t query_folds_ = 1, key_folds_ = 1;
};

}  // namespace qkv

#endif  // QKV_PLAN_COLUMNS_H_
