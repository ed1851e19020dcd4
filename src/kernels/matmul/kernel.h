// What a matrix-product kernel is.
#ifndef QKV_KERNELS_MATMUL_KERNEL_H_
#define QKV_KERNELS_MATMUL_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "kernels/attention/kernel.h"
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

struct MatmulKernel {
  Isa isa;
  int tile_rows;     // rows of a computed at once
  int tile_columns;  // columns of b computed at once

  // Bytes of scratch memory that columns() needs, any alignment.
  std::size_t (*scratch_bytes)(const MatrixProduct& product);

  // Columns [column, column + tile_columns) of out, in matrix (x, y) of the batch. If cancelled,
  // which is looked for at every tile, garbage.
  void (*columns)(const MatrixProduct& product, std::int64_t x, std::int64_t y, std::int64_t column,
                  std::byte* scratch, const Control& control);
};

}  // namespace qkv

#endif  // QKV_KERNELS_MATMUL_KERNEL_H_
