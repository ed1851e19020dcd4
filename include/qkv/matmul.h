// Matrix products in the order of contract A, so that layers keep their bits on every machine.
#ifndef QKV_MATMUL_H_
#define QKV_MATMUL_H_

#include "qkv/error.h"
#include "qkv/options.h"
#include "qkv/tensor.h"

namespace qkv {

// out [..., M, N] = a [..., M, K] times b [..., K, N], rank 2 to 4; leading dimensions broadcast
// like NumPy. out_mn is the contract's dot product of row m of a and column n of b: chains of 32
// fused terms, each from +0, added up in order. float32, float16, bfloat16 inputs; out in float32
// or a type of the inputs. Any strides: b.transposed(...) multiplies by a transpose for free.
void matmul(const TensorView& a, const TensorView& b, const MutableTensorView& out,
            const ExecutionOptions& execution = {});
Tensor matmul(const TensorView& a, const TensorView& b, const ExecutionOptions& execution = {});

// out [..., M, N] = a [..., R, M] transposed times b [..., R, N], in the order of sums over rows:
// blocks of 32 rows are added up by fma from +0, the blocks of 1024 rows in order from +0, and
// those as a binary tree. What the gradient of a weight matrix is, and exacter for many rows than
// matmul(a.transposed(...), b), whose sums of 32 are added left to right.
void matmul_over_rows(const TensorView& a, const TensorView& b, const MutableTensorView& out,
                      const ExecutionOptions& execution = {});
Tensor matmul_over_rows(const TensorView& a, const TensorView& b,
                        const ExecutionOptions& execution = {});

}  // namespace qkv

#endif  // QKV_MATMUL_H_
