// What a tangent kernel is: a table of functions for one instruction set.
#ifndef QKV_KERNELS_TANGENT_KERNEL_H_
#define QKV_KERNELS_TANGENT_KERNEL_H_

#include <cstddef>

#include "kernels/gradient/kernel.h"
#include "problem/tangent_problem.h"

namespace qkv {

// A tile of gradients, and what is known of each row: arrays by row of the tile.
struct TangentTile {
  GradientTile tile;
  const float* lse;        // its tangent
  const float* d_tangent;  // that of dot(d_out, out)
};

// Where the sums over one span of keys go; as SpanSums, but for tangents.
struct ForwardSums {
  float* out;  // [d_v][kGradientRows]: the sum of w s. v + w v., without dropout's factor
  float* lse;  // [kGradientRows]: the sum of w s.
};

struct TangentKernel {
  Isa isa;
  const char* name;

  // Bytes of scratch memory that each call below needs, any alignment.
  std::size_t (*scratch_bytes)(const TangentProblem& t);

  // The sums of a tile's rows over the keys [keys.begin, keys.end) of one span. Of the tile, d is
  // not read. If cancelled, garbage.
  void (*forward_span)(const TangentProblem& t, const GradientTile& tile, KeyRange keys,
                       const ForwardSums& sums, std::byte* scratch, const Control& control);

  // From the sums over all keys, in their places: the tangents of out and of LSE, sinks included.
  // For tangents of gradients also dot(d_out, out) and its tangent; else both are null.
  void (*finish_forward)(const TangentProblem& t, const GradientTile& tile, const ForwardSums& sums,
                         float* d, float* d_tangent, std::byte* scratch);

  // As GradientKernel::add_span.
  void (*add_span)(const TangentProblem& t, const TangentTile& tile, KeyRange keys,
                   const SpanSums& sums, std::byte* scratch, const Control& control);
};

}  // namespace qkv

#endif  // QKV_KERNELS_TANGENT_KERNEL_H_
