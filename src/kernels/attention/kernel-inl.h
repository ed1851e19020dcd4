// The attention kernel of one instruction set, put together.
#ifndef QKV_KERNELS_ATTENTION_KERNEL_INL_H_
#define QKV_KERNELS_ATTENTION_KERNEL_INL_H_

#include "kernels/attention/few_rows-inl.h"
#include "kernels/attention/tile-inl.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

// Vectors of rows of a full tile; smaller ones serve what is left over.
inline constexpr int kTileVectors = 3;

inline std::size_t scratch_bytes(const Problem& p) {
  const std::int64_t floats =
      std::max(tile_scratch_floats<kTileVectors>(p), few_rows_scratch_floats(p));
  return static_cast<std::size_t>(floats) * sizeof(float);
}

inline void states_of_tile(const Problem& p, const RowTile& tile, KeyRange keys, float* states,
                           std::byte* scratch, const Control& control) {
  if (tile.rows <= kFewRows) {
    FewRows(p, tile, keys, scratch, control).run(states);
  } else if (tile.rows <= kLanes) {
    Tile<1>(p, tile, keys, scratch, control).run(states);
  } else if (tile.rows <= 2 * kLanes) {
    Tile<2>(p, tile, keys, scratch, control).run(states);
  } else {
    Tile<kTileVectors>(p, tile, keys, scratch, control).run(states);
  }
}

inline void weights_of_tile(const Problem& p, const RowTile& rows, const float* states,
                            const std::int64_t* offsets, std::byte* scratch,
                            const Control& control) {
  const MutableTensorView& out = p.weights;
  const std::int64_t stride = state_stride(p.d_v()), step = out.strides[3];
  for (int r = 0; r < rows.rows; ++r) {
    for (std::int64_t j = 0; j < p.keys(); ++j) store_result(out, offsets[r] + j * step, 0.0f);
  }
  const Sequence& sequence = rows.sequence;
  Tile<kTileVectors> tile(p, rows, {sequence.first_key, sequence.end_key}, scratch, control);
  const KeyRange all = tile.places().any;
  for (std::int64_t block = all.begin / kBlock; block * kBlock < all.end; ++block) {
    if (control.cancelled()) return;
    const KeyRange keys{std::max(all.begin, block * kBlock),
                        std::min(all.end, (block + 1) * kBlock)};
    Bounds<kTileVectors> bounds;
    if (!tile.score_block(keys, bounds)) continue;
    for (int r = 0; r < rows.rows; ++r) {
      const float m = states[r * stride], l = states[r * stride + 1];
      for (std::int64_t j = keys.begin; j < keys.end; ++j) {
        const float s = tile.scores()[(j - keys.begin) * Tile<kTileVectors>::kRows + r];
        if (s == -kInfinity) continue;
        store_result(out, offsets[r] + sequence.key_row(j) * step, exp1(s - m) / l);
      }
    }
  }
}

inline AttentionKernel attention_kernel(Isa isa, const char* name) {
  return {isa,           name,           Tile<kTileVectors>::kRows,
          scratch_bytes, states_of_tile, merge_rows,
          add_sinks,     finish_rows,    weights_of_tile};
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_ATTENTION_KERNEL_INL_H_
