// Matrix products by the micro-kernel of attention's dot products: lanes = rows of a, "keys" =
// columns of b.
#ifndef QKV_KERNELS_MATMUL_KERNEL_INL_H_
#define QKV_KERNELS_MATMUL_KERNEL_INL_H_

#include <algorithm>
#include <cstdint>

#include "kernels/attention/dot-inl.h"
#include "kernels/attention/operands-inl.h"
#include "kernels/attention/scratch.h"
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
                            std::int64_t column, std::byte* memory, const Control& control) {
  Scratch scratch(memory);
  const std::int64_t k = product.k();
  const int columns = static_cast<int>(std::min<std::int64_t>(kPanelColumns, product.n() - column));
  const FloatRows panel = float_rows(product.b.transposed(2, 3), x, y, column, columns,
                                     scratch.floats(k * kPanelColumns));
  float* rows_of_a = scratch.floats(k * kProductRows);
  float* transposed = scratch.floats(k * kProductRows);
  float* results = scratch.floats(kPanelColumns * kProductRows);
  for (std::int64_t row = 0; row < product.m() && !control.cancelled(); row += kProductRows) {
    const int rows = static_cast<int>(std::min<std::int64_t>(kProductRows, product.m() - row));
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

inline MatmulKernel matmul_kernel(Isa isa) {
  return {isa, kProductRows, kPanelColumns, product_scratch_bytes, product_columns};
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_MATMUL_KERNEL_INL_H_
