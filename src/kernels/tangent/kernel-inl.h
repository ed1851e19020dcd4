// The tangent kernel of one instruction set, put together.
#ifndef QKV_KERNELS_TANGENT_KERNEL_INL_H_
#define QKV_KERNELS_TANGENT_KERNEL_INL_H_

#include "kernels/tangent/tile-inl.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

inline std::size_t tangent_scratch_bytes(const TangentProblem& t) {
  return static_cast<std::size_t>(tangent_scratch_floats(t)) * sizeof(float);
}

inline void forward_span(const TangentProblem& t, const GradientTile& tile, KeyRange keys,
                         const ForwardSums& sums, std::byte* scratch, const Control& control) {
  TangentWork(t, tile, nullptr, keys, scratch, control).forward(sums);
}

inline void add_tangent_span(const TangentProblem& t, const TangentTile& tile, KeyRange keys,
                             const SpanSums& sums, std::byte* scratch, const Control& control) {
  TangentWork(t, tile.tile, &tile, keys, scratch, control).backward(sums);
}

inline void finish_forward(const TangentProblem& t, const GradientTile& tile,
                           const ForwardSums& sums, float* d, float* d_tangent, std::byte* memory) {
  const Problem& p = t.gradient.forward;
  const RowTile& rows = tile.rows;
  const int vectors = (rows.rows + kLanes - 1) / kLanes;
  Scratch scratch(memory);
  for (int r = 0; r < rows.rows && t.sinks.defined(); ++r) {
    const float sink = p.options.sinks[rows.heads[r]];
    if (sink == -kInfinity) continue;
    const float weight = exp1(sink - tile.m[r]) / tile.l[r];
    sums.lse[r] =
        fma1(weight, load_float(t.sinks, rows.heads[r] * t.sinks.strides[0]), sums.lse[r]);
  }
  const TileRows out = TileRows::copied(t.gradient.out, rows, vectors, scratch);
  const V factor = set(p.dropout_factor);
  for (std::int64_t c = 0; c < p.d_v(); ++c) {
    for (int n = 0; n < vectors; ++n) {
      const std::int64_t place = c * kGradientRows + n * kLanes;
      const V moved = load(sums.lse + n * kLanes) * load(out.lanes + place);
      store(load(sums.out + place) * factor - moved, sums.out + place);
    }
  }
  if (d == nullptr) return;
  const TileRows d_out = TileRows::copied(t.gradient.d_out, rows, vectors, scratch);
  float results[kMaxTileRows], more[kMaxTileRows] = {};
  dots_of_lanes(d_out.lanes, out.lanes, p.d_v(), vectors, results);
  std::copy(results, results + rows.rows, d);
  if (t.d_out.defined()) {
    const TileRows d_out_moves = TileRows::copied(t.d_out, rows, vectors, scratch);
    dots_of_lanes(d_out_moves.lanes, out.lanes, p.d_v(), vectors, more);
  }
  dots_of_lanes(d_out.lanes, sums.out, p.d_v(), vectors, results);
  for (int r = 0; r < rows.rows; ++r) d_tangent[r] = more[r] + results[r];
}

inline TangentKernel tangent_kernel(Isa isa, const char* name) {
  return {isa, name, tangent_scratch_bytes, forward_span, finish_forward, add_tangent_span};
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_TANGENT_KERNEL_INL_H_
