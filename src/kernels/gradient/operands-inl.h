// What the kernels of gradients and of tangents share beside the products: a tile's rows as
// numbers, dot products with them, score_mod's derivative, and sums that leave out pairs.
#ifndef QKV_KERNELS_GRADIENT_OPERANDS_INL_H_
#define QKV_KERNELS_GRADIENT_OPERANDS_INL_H_

#include <algorithm>
#include <cstdint>

#include "kernels/attention/dot-inl.h"
#include "kernels/attention/scores-inl.h"
#include "kernels/attention/states-inl.h"
#include "kernels/gradient/products-inl.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

// A row of the queries' buffers.
inline std::int64_t query_row(const RowTile& tile, int r) {
  return tile.sequence.query_begin + tile.queries[r];
}

// The tile's rows of `view` as floats [rows][stride], padded with zeros to whole vectors, and
// transposed, [d][kGradientRows].
inline void copy_rows(const RowTile& tile, const TensorView& view, int vectors, float* rows,
                      std::int64_t stride, float* lanes) {
  const std::int64_t d = view.extents[3];
  for (int r = 0; r < tile.rows; ++r) {
    widen(view, offset_of(view, tile.sequence.buffer, tile.heads[r], query_row(tile, r), 0),
          view.strides[3], d, rows + r * stride);
    std::fill(rows + r * stride + d, rows + (r + 1) * stride, 0.0f);
  }
  transpose([&](int n) { return rows + std::min(n, tile.rows - 1) * stride; }, vectors * kLanes, d,
            lanes, kGradientRows);
}

// result[key][lane] = factor * dot(lanes, row of the key). Is any of them -inf?
inline bool dots(const float* lanes, std::int64_t d, const FloatRows& rows, int count, int vectors,
                 float factor, float* result) {
  bool all_above = true;
  in_pieces<kLaneVectors>(vectors, [&]<int QV>(int vector) {
    Bounds<QV> bounds;
    for (int v = 0; v < QV; ++v) bounds.high[v] = bounds.low[v] = zero();
    in_pieces<kTermsAtOnce>(count, [&]<int KB>(int key) {
      const float* row[KB];
      for (int n = 0; n < KB; ++n) row[n] = rows.row(key + n);
      dot_keys<QV, KB>(lanes + vector * kLanes, kGradientRows, d, row, factor,
                       result + key * kGradientRows + vector * kLanes, bounds);
    });
    for (int v = 0; v < QV; ++v) all_above = all_above && all(less(set(-kInfinity), bounds.low[v]));
  });
  return !all_above;
}

// Rule 1's dot product with lanes = rows, from columns [d][kGradientRows]; kMaxTileRows results.
inline void dots_of_lanes(const float* a, const float* b, std::int64_t d, int vectors,
                          float* results) {
  for (int n = 0; n < vectors; ++n) {
    V t = zero();
    for (std::int64_t group = 0; group < d; group += kGroup) {
      V u = zero();
      for (std::int64_t c = group; c < std::min(group + kGroup, d); ++c) {
        const std::int64_t place = c * kGradientRows + n * kLanes;
        u = fma(load(a + place), load(b + place), u);
      }
      t = t + u;
    }
    store(t, results + n * kLanes);
  }
}

// Writes the numbers [key][kGradientRows] of the tile's pairs to where each has a place of its own.
inline void write_pairs(const MutableTensorView& view, const RowTile& tile, KeyRange keys,
                        const float* numbers) {
  const std::int64_t column = tile.sequence.key_row(keys.begin), step = view.strides[3];
  for (int r = 0; r < tile.rows; ++r) {
    const std::int64_t offset =
        offset_of(view, tile.sequence.buffer, tile.heads[r], query_row(tile, r), column);
    for (std::int64_t key = 0; key < keys.end - keys.begin; ++key) {
      store_result(view, offset + key * step, numbers[key * kGradientRows + r]);
    }
  }
}

// Multiplies numbers [key][kGradientRows] by score_mod's derivative at `scores`.
inline void apply_score_mod_gradient(const Problem& p, const RowTile& tile, const RowPlaces& places,
                                     KeyRange keys, const float* scores, float* numbers) {
  ScoreGradientTile view;
  view.batch = tile.sequence.index;
  view.rows = tile.rows;
  view.heads = tile.heads;
  view.positions = places.positions;
  view.first_key = keys.begin;
  view.keys = static_cast<int>(keys.end - keys.begin);
  view.scores = scores;
  view.gradients = numbers;
  view.row_stride = 1;
  view.key_stride = kGradientRows;
  p.options.score_mod_gradient(view);
}

// add_d_query() and add_d_keys() one element at a time, over the pairs with takes_part(key, row):
// for numbers that are not finite, whose product with 0 is NaN.
template <class TakesPart>
void add_d_query_selecting(TakesPart takes_part, const float* x, int count, const FloatRows& keys,
                           std::int64_t d, int rows, float* sums) {
  for (int r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < d; ++c) {
      float b = 0.0f;
      for (int key = 0; key < count; ++key) {
        if (takes_part(key, r)) b = fma1(x[key * kGradientRows + r], keys.row(key)[c], b);
      }
      float& sum = sums[c * kGradientRows + r];
      sum = sum + b;
    }
  }
}

template <class TakesPart>
void add_d_keys_selecting(TakesPart takes_part, const float* x, int count, int row_count,
                          const float* rows, std::int64_t stride, std::int64_t d, float* sums) {
  for (int key = 0; key < count; ++key) {
    for (int block = 0; block < row_count; block += kBlock) {
      const int end = std::min(block + static_cast<int>(kBlock), row_count);
      for (std::int64_t c = 0; c < d; ++c) {
        float b = 0.0f;
        for (int r = block; r < end; ++r) {
          if (takes_part(key, r)) b = fma1(x[key * kGradientRows + r], rows[r * stride + c], b);
        }
        float& sum = sums[key * stride + c];
        sum = sum + b;
      }
    }
  }
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_GRADIENT_OPERANDS_INL_H_
