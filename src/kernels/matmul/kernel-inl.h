// Matrix products by the micro-kernel of attention's dot products: lanes = rows of a, "keys" =
// columns of b.
#ifndef QKV_KERNELS_MATMUL_KERNEL_INL_H_
#define QKV_KERNELS_MATMUL_KERNEL_INL_H_

#include <algorithm>
#include <cstdint>

#include "kernels/attention/dot-inl.h"
#include "kernels/attention/operands-inl.h"
#include "kernels/attention/scratch.h"
#include "kernels/gradient/products-inl.h"
#include "kernels/matmul/kernel.h"
#include "tensor/element.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

inline constexpr int kPanelColumns = 64;
inline constexpr int kProductVectors = 3;
inline constexpr int kProductRows = kProductVectors * kLanes;
#if QKV_TARGET == QKV_TARGET_AVX512 || QKV_TARGET == QKV_TARGET_NEON
inline constexpr int kColumnsAtOnce = 8;
#else
inline constexpr int kColumnsAtOnce = 4;
#endif

inline std::size_t product_scratch_bytes(const MatrixProduct& product) {
  // The panel of b, rows of a as floats and transposed, the results.
  const std::int64_t floats = product.k() * (kPanelColumns + 2 * kProductRows) +
                              kPanelColumns * kProductRows + 5 * Scratch::kAlignFloats;
  return static_cast<std::size_t>(floats) * sizeof(float);
}

// Results [columns][lane_stride] of one tile of rows to out.
inline void write_product(const MatrixProduct& product, std::int64_t x, std::int64_t y,
                          std::int64_t row, int rows, std::int64_t column, int columns,
                          const float* results) {
  for (int r = 0; r < rows; ++r) {
    const std::int64_t offset = offset_of(product.out, x, y, row + r, column);
    for (int c = 0; c < columns; ++c) {
      store_result(product.out, offset + c * product.out.strides[3], results[c * kProductRows + r]);
    }
  }
}

inline void product_columns(const MatrixProduct& product, std::int64_t x, std::int64_t y,
                            std::int64_t begin, std::int64_t end, std::int64_t column,
                            std::byte* memory, const Control& control) {
  Scratch scratch(memory);
  const std::int64_t k = product.k();
  const int columns = static_cast<int>(std::min<std::int64_t>(kPanelColumns, product.n() - column));
  const FloatRows panel = float_rows(product.b.transposed(2, 3), x, y, column, columns,
                                     scratch.floats(k * kPanelColumns));
  float* rows_of_a = scratch.floats(k * kProductRows);
  float* transposed = scratch.floats(k * kProductRows);
  float* results = scratch.floats(kPanelColumns * kProductRows);
  for (std::int64_t row = begin; row < end && !control.cancelled(); row += kProductRows) {
    const int rows = static_cast<int>(std::min<std::int64_t>(kProductRows, end - row));
    const FloatRows a = float_rows(product.a, x, y, row, rows, rows_of_a);
    transpose([&](int n) { return a.row(std::min(n, rows - 1)); }, kProductRows, k, transposed,
              kProductRows);
    for (int first = 0; first < columns; first += kColumnsAtOnce) {
      const float* b[kColumnsAtOnce];
      for (int n = 0; n < kColumnsAtOnce; ++n) b[n] = panel.row(std::min(first + n, columns - 1));
      Bounds<kProductVectors> unused;
      for (int v = 0; v < kProductVectors; ++v) unused.high[v] = unused.low[v] = zero();
      // A scale of 1 changes no bit.
      dot_keys<kProductVectors, kColumnsAtOnce>(transposed, kProductRows, k, b, 1.0f,
                                                results + first * kProductRows, unused);
    }
    write_product(product, x, y, row, rows, column, columns, results);
  }
}

// ---- Sums over rows -----------------------------------------------------------------------------

// Rows of a and b that are copied at once: whole blocks.
inline constexpr int kRowsAtOnce = kGradientRows;

inline std::size_t row_product_scratch_bytes(const RowProduct& product) {
  const std::int64_t floats =
      kRowsAtOnce * (2 * kRowProductColumns + row_stride(product.n())) + 4 * Scratch::kAlignFloats;
  return static_cast<std::size_t>(floats) * sizeof(float);
}

inline void add_product_rows(const RowProduct& product, std::int64_t x, std::int64_t y,
                             std::int64_t begin, std::int64_t end, std::int64_t column, int count,
                             float* sums, std::byte* memory) {
  Scratch scratch(memory);
  float* of_a = scratch.floats(kRowsAtOnce * kRowProductColumns);
  float* transposed = scratch.floats(kRowProductColumns * kRowsAtOnce);
  const std::int64_t n = product.n(), stride = row_stride(n);
  float* of_b = scratch.floats(kRowsAtOnce * stride);
  for (std::int64_t row = begin; row < end; row += kRowsAtOnce) {
    const int rows = static_cast<int>(std::min<std::int64_t>(kRowsAtOnce, end - row));
    for (int r = 0; r < rows; ++r) {
      widen(product.a, offset_of(product.a, x, y, row + r, column), product.a.strides[3], count,
            of_a + r * kRowProductColumns);
      widen(product.b, offset_of(product.b, x, y, row + r, 0), product.b.strides[3], n,
            of_b + r * stride);
      std::fill(of_b + r * stride + n, of_b + (r + 1) * stride, 0.0f);
    }
    // A row in each lane, as the gradients of pairs lie.
    transpose([&](int r) { return of_a + std::min(r, rows - 1) * kRowProductColumns; },
              (rows + kLanes - 1) / kLanes * kLanes, count, transposed, kGradientRows);
    add_d_keys(transposed, count, rows, of_b, stride, sums);
  }
}

inline void write_row_product(const MutableTensorView& out, std::int64_t x, std::int64_t y,
                              std::int64_t row, std::int64_t count, const float* sums) {
  const std::int64_t n = out.extents[3], stride = row_stride(n);
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t offset = offset_of(out, x, y, row + r, 0);
    for (std::int64_t c = 0; c < n; ++c) {
      store_result(out, offset + c * out.strides[3], sums[r * stride + c]);
    }
  }
}

inline MatmulKernel matmul_kernel(Isa isa) {
  return {isa,
          kProductRows,
          kPanelColumns,
          product_scratch_bytes,
          product_columns,
          row_product_scratch_bytes,
          add_product_rows,
          write_row_product};
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_MATMUL_KERNEL_INL_H_
