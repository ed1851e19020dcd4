// What a gradient kernel is: a table of functions for one instruction set.
#ifndef QKV_KERNELS_GRADIENT_KERNEL_H_
#define QKV_KERNELS_GRADIENT_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "kernels/attention/kernel.h"
#include "problem/gradient_problem.h"

namespace qkv {

// Query rows of a tile: whole blocks of the query axis, and vectors of every instruction set.
inline constexpr int kGradientRows = 64;
static_assert(kGradientRows % kBlock == 0 || kBlock != 32);

// Numbers of a row in memory, padded so that every instruction set works on whole vectors.
inline std::int64_t row_stride(std::int64_t d) { return (d + 15) / 16 * 16; }

// Consecutive queries of one query head, the first at a multiple of kGradientRows, and what the
// forward pass left of each: arrays by row of the tile.
struct GradientTile {
  RowTile rows;
  const float *m, *l;  // of its softmax, sink included
  const float* d;      // dot(d_out, out)
};

// Where the sums over one span of keys go. d_key and d_value are those over one span of queries:
// they are added to. The others are replaced. Null: not asked for.
struct SpanSums {
  float* d_query;  // [d_qk][kGradientRows], without the scale
  float* d_key;    // [keys of the span][row_stride(d_qk)], without the scale
  float* d_value;  // [keys of the span][row_stride(d_v)]
  float*
      gradients;  // [keys of the span][kGradientRows] of the final score of each pair, 0 if hidden
};

struct GradientKernel {
  Isa isa;
  const char* name;

  // Bytes of scratch memory that each call below needs, any alignment.
  std::size_t (*scratch_bytes)(const GradientProblem& g);

  // dot(d_out, out) of each row, for a tile whose d is not known yet.
  void (*row_dots)(const GradientProblem& g, const RowTile& rows, float* d, std::byte* scratch);

  // The tile's pairs with the keys [keys.begin, keys.end) of one span, sums[0] being that of
  // keys.begin. If cancelled, garbage.
  void (*add_span)(const GradientProblem& g, const GradientTile& tile, KeyRange keys,
                   const SpanSums& sums, std::byte* scratch, const Control& control);

  // Writes rows [first, first + count) of one head: sums [count][stride] times factor, rounded to
  // the view's type.
  void (*write_rows)(const MutableTensorView& view, std::int64_t buffer, std::int64_t head,
                     std::int64_t first, std::int64_t count, const float* sums, std::int64_t stride,
                     float factor);

  // The same from sums [d][kGradientRows], a row in each lane.
  void (*write_lanes)(const MutableTensorView& view, std::int64_t buffer, std::int64_t head,
                      std::int64_t first, std::int64_t count, const float* sums, float factor,
                      std::byte* scratch);
};

// Has each element of the bias its own pair, so that d_bias needs no sums?
inline bool bias_is_full(const GradientProblem& g) {
  for (int axis = 0; axis < kMaxRank; ++axis) {
    if (g.d_bias.extents[axis] > 1 && g.d_bias.strides[axis] == 0) return false;
  }
  return true;
}

}  // namespace qkv

#endif  // QKV_KERNELS_GRADIENT_KERNEL_H_
