// Positions on the tape.
#include "nn/tape_impl.h"
#include "plan/rotation.h"

namespace qkv::nn {

Var Tape::rotate(Var x, const TensorView& cosines, const TensorView& sines, RotaryLayout layout) {
  if (!impl_->usable("rotate", {x})) return {};
  Impl& t = *impl_;
  const Var y = t.push(t.take(shape_of(t.value(x))), {x});
  if (!y.defined()) return {};
  const Rotation forward{t.value(x), cosines, sines, layout, t.value(y)};
  if (Status s = run_rotation(forward, t.execution); !s.ok()) return t.fail(s);
  if (!t.learns(x)) return y;
  // The backward pass comes when the caller's tables may be gone.
  const Var c = constant(cosines), s = constant(sines);
  if (!c.defined() || !s.defined()) return {};
  t.node(y).backward = [&t, x, y, c, s, layout]() -> Status {
    t.gradient(y);
    const Tensor d_x = t.take(shape_of(t.value(x)));
    if (!d_x.defined()) return t.tape.status();
    const Rotation back{t.node(y).gradient, t.value(c), t.value(s), layout, d_x, true};
    if (Status status = run_rotation(back, t.execution); !status.ok()) return status;
    float* sums = t.gradient(x);
    const float* more = d_x.data<float>();
    for (std::int64_t i = 0; i < d_x.size(); ++i) sums[i] = sums[i] + more[i];
    return {};
  };
  return y;
}

}  // namespace qkv::nn
