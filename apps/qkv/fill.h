// Random numbers for tensors, made so that they are the same bits on every machine.
#ifndef QKV_APPS_QKV_FILL_H_
#define QKV_APPS_QKV_FILL_H_

#include "qkv/random.h"
#include "qkv/tensor.h"

namespace qkv::app {

// A row-major tensor with elements drawn from [-1, 1]: float32 k / 2^23, float16 k / 2^10, bfloat16
// k / 2^7, k whole numbers. All are exact, so that nothing is left to rounding. Throws a Failure if
// memory is short.
Tensor draw(random::Generator& generator, DType dtype, std::span<const std::int64_t> shape);

// A row-major bool tensor, true with probability `share`.
Tensor draw_mask(random::Generator& generator, double share, std::span<const std::int64_t> shape);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_FILL_H_
