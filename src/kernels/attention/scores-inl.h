// What happens to the scores of a block after the dot product: softcap, score_mod, ALiBi, bias and
// masks (rules 1 and 2 of contract A), in either layout of the block.
#ifndef QKV_KERNELS_ATTENTION_SCORES_INL_H_
#define QKV_KERNELS_ATTENTION_SCORES_INL_H_

#include <cstdint>
#include <limits>

#include "kernels/attention/liveness.h"
#include "kernels/attention/operands-inl.h"
#include "simd/math-inl.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Scores of some rows against consecutive keys. The lanes of vectors are rows (tiles: row_stride 1)
// or keys (few rows: key_stride 1).
struct ScoreBlock {
  float* s;
  std::int64_t row_stride, key_stride;
  int rows;       // rows that count
  int lane_rows;  // rows there are, copies of the last one included (lanes = rows only)
  KeyRange keys;

  bool lanes_are_rows() const { return row_stride == 1; }
  int key_count() const { return static_cast<int>(keys.end - keys.begin); }
  // Vectors are [outer][inner], with inner a multiple of kLanes.
  int outer() const { return lanes_are_rows() ? key_count() : rows; }
  int inner() const {
    return lanes_are_rows() ? lane_rows : (key_count() + kLanes - 1) / kLanes * kLanes;
  }
  std::int64_t outer_stride() const { return lanes_are_rows() ? key_stride : row_stride; }
};

inline bool has_modifiers(const Problem& p) {
  return p.options.softcap || p.options.score_mod || !p.options.alibi_slopes.empty() ||
         p.bias.defined();
}

inline void apply_softcap(const ScoreBlock& block, float softcap) {
  const V cap = set(softcap);
  for (int o = 0; o < block.outer(); ++o) {
    float* line = block.s + o * block.outer_stride();
    for (int i = 0; i < block.inner(); i += kLanes) {
      store(cap * tanh(load(line + i) / cap), line + i);
    }
  }
}

inline void apply_score_mod(const Problem& p, const RowTile& tile, const RowPlaces& places,
                            const ScoreBlock& block) {
  ScoreTile view;
  view.batch = tile.sequence.index;
  view.rows = block.rows;
  view.heads = tile.heads;
  view.positions = places.positions;
  view.first_key = block.keys.begin;
  view.keys = block.key_count();
  view.scores = block.s;
  view.row_stride = block.row_stride;
  view.key_stride = block.key_stride;
  p.options.score_mod(view);
}

// s = fma(-slope, float(|p - j|), s).
inline void apply_alibi(const Problem& p, const RowTile& tile, const RowPlaces& places,
                        const ScoreBlock& block) {
  // Distances as int32 where they fit, which is nearly always; rounding to float is the same.
  float slopes[kMaxTileRows];
  std::int32_t offsets[kMaxTileRows];
  bool fits = true;
  const int rows = block.lanes_are_rows() ? block.lane_rows : block.rows;
  for (int r = 0; r < rows; ++r) {
    const int row = r < block.rows ? r : block.rows - 1;
    const std::int64_t offset = places.positions[row] - block.keys.begin;
    slopes[r] = -p.options.alibi_slopes[tile.heads[row]];
    fits = fits && offset > -(std::int64_t{1} << 30) && offset < (std::int64_t{1} << 30);
    offsets[r] = fits ? static_cast<std::int32_t>(offset) : 0;
  }
  if (!fits) {
    for (int r = 0; r < rows; ++r) {
      const std::int64_t position = places.positions[r < block.rows ? r : block.rows - 1];
      for (int key = 0; key < block.key_count(); ++key) {
        const std::int64_t j = block.keys.begin + key;
        const auto distance_r = static_cast<float>(position > j ? position - j : j - position);
        float lanes[kLanes];
        float& s = block.s[r * block.row_stride + key * block.key_stride];
        store(fma(set(slopes[r]), set(distance_r), set(s)), lanes);
        s = lanes[0];
      }
    }
    return;
  }
  std::int32_t counting[kMaxTileRows];
  for (int key = 0; key < kMaxTileRows; ++key) counting[key] = key;
  for (int o = 0; o < block.outer(); ++o) {
    float* line = block.s + o * block.outer_stride();
    for (int i = 0; i < block.inner(); i += kLanes) {
      const V d =
          block.lanes_are_rows() ? distance(offsets + i, o) : distance(counting + i, offsets[o]);
      const V slope = block.lanes_are_rows() ? load(slopes + i) : set(slopes[o]);
      store(fma(slope, d, load(line + i)), line + i);
    }
  }
}

// Bias rows of neighbouring float32 numbers, added where they lie: transposed in registers if the
// lanes are rows.
inline void add_bias_rows(const ScoreBlock& block, const float* const* rows) {
  const int count = block.key_count();
  if (!block.lanes_are_rows()) {
    for (int r = 0; r < block.rows; ++r) {
      float* line = block.s + r * block.row_stride;
      int key = 0;
      for (; key + kLanes <= count; key += kLanes) {
        store(load(line + key) + load(rows[r] + key), line + key);
      }
      for (; key < count; ++key) line[key] += rows[r][key];
    }
    return;
  }
  for (int i = 0; i < block.lane_rows; i += kLanes) {
    int key = 0;
    for (; key + 4 <= count; key += 4) {
      V columns[4];
      load_transposed4([&](int n) { return rows[i + n] + key; }, columns);
      for (int n = 0; n < 4; ++n) {
        float* place = block.s + (key + n) * block.key_stride + i;
        store(load(place) + columns[n], place);
      }
    }
    for (; key < count; ++key) {
      for (int n = 0; n < kLanes; ++n) block.s[key * block.key_stride + i + n] += rows[i + n][key];
    }
  }
}

// Adds the numbers of a view that is broadcast to the scores.
inline void apply_bias(const TensorView& bias, const RowTile& tile, const ScoreBlock& block) {
  const std::int64_t column = tile.sequence.key_row(block.keys.begin);
  const std::int64_t step = bias.strides[3];
  const int rows = block.lanes_are_rows() ? block.lane_rows : block.rows;
  const bool plain = bias.dtype == DType::kFloat32 && step == 1;
  const float* lines[kMaxTileRows];
  for (int r = 0; r < rows; ++r) {
    const int row = r < block.rows ? r : block.rows - 1;
    const std::int64_t from = offset_of(bias, tile.sequence.buffer, tile.heads[row],
                                        tile.sequence.query_begin + tile.queries[row], column);
    if (plain) {
      lines[r] = static_cast<const float*>(bias.data) + from;
      // Rows lie apart, so the hardware doesn't see what the next block will read.
      for (int line = 0; line < kBlock; line += 16) __builtin_prefetch(lines[r] + kBlock + line);
      continue;
    }
    for (int key = 0; key < block.key_count(); ++key) {
      block.s[r * block.row_stride + key * block.key_stride] += load_float(bias, from + key * step);
    }
  }
  if (plain) add_bias_rows(block, lines);
}

inline void modify_scores(const Problem& p, const RowTile& tile, const RowPlaces& places,
                          const ScoreBlock& block) {
  if (p.options.softcap) apply_softcap(block, *p.options.softcap);
  if (p.options.score_mod) apply_score_mod(p, tile, places, block);
  if (!p.options.alibi_slopes.empty()) apply_alibi(p, tile, places, block);
  if (p.bias.defined()) apply_bias(p.bias, tile, block);
}

// Scores whose bit in words[row] is 0 become -inf, which is what "masked" looks like from here on.
inline void hide_masked(const ScoreBlock& block, const std::uint64_t* words) {
#if QKV_FAULT_CODE == QKV_FAULT_MASK_BY_ADDING
  for (int r = 0; r < (block.lanes_are_rows() ? block.lane_rows : block.rows); ++r) {
    for (int key = 0; key < block.key_count(); ++key) {
      float& s = block.s[r * block.row_stride + key * block.key_stride];
      if ((words[r < block.rows ? r : block.rows - 1] >> key & 1) == 0) s += -1e30f;
    }
  }
  return;
#endif
  if (!block.lanes_are_rows()) {
    for (int r = 0; r < block.rows; ++r) {
      for (int key = 0; key < block.key_count(); ++key) {
        if ((words[r] >> key & 1) == 0) block.s[r * block.row_stride + key] = -kInfinity;
      }
    }
    return;
  }
  std::uint32_t halves[2][kMaxTileRows];
  for (int r = 0; r < block.lane_rows; ++r) {
    const std::uint64_t word = words[r < block.rows ? r : block.rows - 1];
    halves[0][r] = static_cast<std::uint32_t>(word);
    halves[1][r] = static_cast<std::uint32_t>(word >> 32);
  }
  const V hidden = set(-kInfinity);
  for (int key = 0; key < block.key_count(); ++key) {
    float* line = block.s + key * block.key_stride;
    const std::uint32_t bit = std::uint32_t{1} << (key % 32);
    for (int i = 0; i < block.lane_rows; i += kLanes) {
      store(select(bit_set(halves[key / 32] + i, bit), load(line + i), hidden), line + i);
    }
  }
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_ATTENTION_SCORES_INL_H_
