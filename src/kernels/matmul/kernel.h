// What a matrix-product kernel is.
#ifndef QKV_KERNELS_MATMUL_KERNEL_H_
#define QKV_KERNELS_MATMUL_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "kernels/attention/kernel.h"
#include "kernels/gradient/kernel.h"
#include "qkv/cpu.h"
#include "qkv/tensor.h"

namespace qkv {

// One matrix product, all views rank 4 with the leading two extents equal (broadcast by strides of
// 0): out [.., M, N] = a [.., M, K] b [.., K, N].
struct MatrixProduct {
  TensorView a, b;
  MutableTensorView out;
  std::int64_t m() const { return a.extents[2]; }
  std::int64_t k() const { return a.extents[3]; }
  std::int64_t n() const { return b.extents[3]; }
};

// out [.., M, N] = the sum over rows r of a [.., R, M] and b [.., R, N], likewise.
struct RowProduct {
  TensorView a, b;
  MutableTensorView out;
  std::int64_t rows() const { return a.extents[2]; }
  std::int64_t m() const { return a.extents[3]; }
  std::int64_t n() const { return b.extents[3]; }
};

// Columns of a that one task takes.
inline constexpr int kRowProductColumns = 64;

struct MatmulKernel {
  Isa isa;
  int tile_rows;     // rows of a computed at once
  int tile_columns;  // columns of b computed at once

  // Bytes of scratch memory that columns() needs, any alignment.
  std::size_t (*scratch_bytes)(const MatrixProduct& product);

  // Rows [begin, end) and columns [column, column + tile_columns) of out, in matrix (x, y) of the
  // batch. If cancelled, which is looked for at every tile, garbage.
  void (*columns)(const MatrixProduct& product, std::int64_t x, std::int64_t y, std::int64_t begin,
                  std::int64_t end, std::int64_t column, std::byte* scratch,
                  const Control& control);

  // For a transposed times b: bytes of scratch memory that add_rows() needs, any alignment.
  std::size_t (*rows_scratch_bytes)(const RowProduct& product);

  // sums [count][row_stride(N)] += the products of the rows [begin, end) of one span, block by
  // block, for the columns [column, column + count) of a, at most kRowProductColumns.
  void (*add_rows)(const RowProduct& product, std::int64_t x, std::int64_t y, std::int64_t begin,
                   std::int64_t end, std::int64_t column, int count, float* sums,
                   std::byte* scratch);

  // Writes sums [count][row_stride(N)] to the rows [row, row + count) of out.
  void (*write_rows)(const MutableTensorView& out, std::int64_t x, std::int64_t y, std::int64_t row,
                     std::int64_t count, const float* sums);
};

}  // namespace qkv

#endif  // QKV_KERNELS_MATMUL_KERNEL_H_
