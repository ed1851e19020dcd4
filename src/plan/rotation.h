// How queries and keys are turned by rotary positions.
#ifndef QKV_PLAN_ROTATION_H_
#define QKV_PLAN_ROTATION_H_

#include <atomic>

#include "qkv/options.h"
#include "qkv/positions.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv {

struct Rotation {
  TensorView x, cosines, sines;
  RotaryLayout layout;
  MutableTensorView out;
  bool back = false;  // by the negative angles: x is d_out, out is d_x
};

// `stop`, if not null, ends the run like a cancelled one.
Status run_rotation(const Rotation& rotation, const ExecutionOptions& execution,
                    const std::atomic<bool>* stop = nullptr);

}  // namespace qkv

#endif  // QKV_PLAN_ROTATION_H_
