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

// Full tiles of one key head run together, so that they share each strip of keys; smaller ones by
// themselves.
inline void states_of_tiles(const Problem& p, const RowTile* tiles, int count, KeyRange keys,
                            float* states, std::byte* scratch, const Control& control) {
  const std::int64_t stride = state_stride(p.d_v());
  for (int first = 0, end = 0; first < count; first = end) {
    const RowTile& tile = tiles[first];
    end = first + 1;
    if (tile.rows <= kFewRows) {
      FewRows(p, tile, keys, scratch, control).run(states);
    } else if (tile.rows <= kLanes) {
      run_tiles<1>(p, &tile, 1, keys, states, scratch, control);
    } else if (tile.rows <= 2 * kLanes) {
      run_tiles<2>(p, &tile, 1, keys, states, scratch, control);
    } else {
      while (end < count && tiles[end].rows > 2 * kLanes &&
             tiles[end].sequence.index == tile.sequence.index &&
             tiles[end].key_head == tile.key_head) {
        ++end;
      }
      run_tiles<kTileVectors>(p, &tile, end - first, keys, states, scratch, control);
    }
    for (int n = first; n < end; ++n) states += tiles[n].rows * stride;
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
  Scratch memory(scratch);
  const TileBuffers<kTileVectors> buffers(p, memory);
  Tile<kTileVectors> tile(p, rows, {sequence.first_key, sequence.end_key}, buffers, memory,
                          control);
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
  return {isa,
          name,
          Tile<kTileVectors>::kRows,
          scratch_bytes,
          states_of_tiles,
          merge_rows,
          add_sinks,
          finish_rows,
          weights_of_tile};
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_ATTENTION_KERNEL_INL_H_
