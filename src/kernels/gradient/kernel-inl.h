// The gradient kernel of one instruction set, put together.
#ifndef QKV_KERNELS_GRADIENT_KERNEL_INL_H_
#define QKV_KERNELS_GRADIENT_KERNEL_INL_H_

#include "kernels/gradient/tile-inl.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

inline std::size_t gradient_scratch_bytes(const GradientProblem& g) {
  return static_cast<std::size_t>(gradient_scratch_floats(g)) * sizeof(float);
}

inline void add_span(const GradientProblem& g, const GradientTile& tile, KeyRange keys,
                     const SpanSums& sums, std::byte* scratch, const Control& control) {
  GradientWork(g, tile, keys, sums, scratch, control).run();
}

inline void row_dots(const GradientProblem& g, const RowTile& rows, float* d, std::byte* memory) {
  const std::int64_t columns = g.forward.d_v(), stride = row_stride(columns);
  const int vectors = (rows.rows + kLanes - 1) / kLanes;
  Scratch scratch(memory);
  float* as_rows = scratch.floats(kGradientRows * stride);
  float* d_out = scratch.floats(kGradientRows * columns);
  float* out = scratch.floats(kGradientRows * columns);
  copy_rows(rows, g.d_out, vectors, as_rows, stride, d_out);
  copy_rows(rows, g.out, vectors, as_rows, stride, out);
  float results[kMaxTileRows];
  dots_of_lanes(d_out, out, columns, vectors, results);
  std::copy(results, results + rows.rows, d);
}

inline void write_gradient_rows(const MutableTensorView& view, std::int64_t buffer,
                                std::int64_t head, std::int64_t first, std::int64_t count,
                                const float* sums, std::int64_t stride, float factor) {
  const std::int64_t d = view.extents[3];
  const bool plain = view.dtype == DType::kFloat32 && view.strides[3] == 1;
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t offset = offset_of(view, buffer, head, first + r, 0);
    const float* row = sums + r * stride;
    std::int64_t c = 0;
    for (; plain && c + kLanes <= d; c += kLanes) {
      store(canonical(load(row + c) * set(factor)), static_cast<float*>(view.data) + offset + c);
    }
    for (; c < d; ++c) store_result(view, offset + c * view.strides[3], row[c] * factor);
  }
}

inline void write_gradient_lanes(const MutableTensorView& view, std::int64_t buffer,
                                 std::int64_t head, std::int64_t first, std::int64_t count,
                                 const float* sums, float factor, std::byte* memory) {
  const std::int64_t d = view.extents[3], stride = row_stride(d);
  float* rows = Scratch(memory).floats(kGradientRows * stride);
  // [d][kGradientRows] to [kGradientRows][d]: the columns are the "rows" of this transposition.
  const std::int64_t whole = d / kLanes * kLanes;
  transpose([&](int n) { return sums + n * kGradientRows; }, static_cast<int>(whole),
            (count + 3) / 4 * 4, rows, stride);
  for (std::int64_t c = whole; c < d; ++c) {
    for (std::int64_t r = 0; r < count; ++r) rows[r * stride + c] = sums[c * kGradientRows + r];
  }
  write_gradient_rows(view, buffer, head, first, count, rows, stride, factor);
}

inline GradientKernel gradient_kernel(Isa isa, const char* name) {
  return {isa,
          name,
          gradient_scratch_bytes,
          row_dots,
          add_span,
          write_gradient_rows,
          write_gradient_lanes};
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_GRADIENT_KERNEL_INL_H_
