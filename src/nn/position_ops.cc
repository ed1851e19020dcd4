// Positions on the tape.
#include <algorithm>

#include "nn/tape_impl.h"
#include "plan/rotation.h"
#include "positions/relative.h"

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

Var Tape::relative_bias(Var table, std::int64_t queries, std::int64_t keys,
                        const RelativeBuckets& buckets, std::optional<std::int64_t> query_offset) {
  if (!impl_->usable("relative_bias", {table})) return {};
  Impl& t = *impl_;
  if (Status s = check_relative_table(t.value(table), buckets); !s.ok()) return t.fail(s);
  RelativePairs pairs;
  if (Status s = make_pairs(queries, keys, query_offset, pairs); !s.ok()) return t.fail(s);
  const std::int64_t heads = t.value(table).extent(1);
  const Tensor numbers = t.take({heads, pairs.count()});
  const Var y = t.push(t.take({heads, queries, keys}), {table});
  if (!numbers.defined() || !y.defined()) return {};
  float* of_distance = numbers.data<float>();
  if (Status s = fill_relative_bias(t.value(table), pairs, buckets, of_distance); !s.ok()) {
    return t.fail(s);
  }
  // Values of a tape are row-major.
  const MutableTensorView view = toeplitz(of_distance, heads, pairs);
  float* to = t.numbers(y);
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < queries; ++i, to += keys) {
      std::copy_n(static_cast<const float*>(view.data) + h * view.strides[0] - i, keys, to);
    }
  }
  t.node(y).backward = [&t, table, y, buckets, offset = pairs.offset]() -> Status {
    if (!t.learns(table)) return {};
    t.gradient(y);
    const Tensor d_table = t.take(shape_of(t.value(table)));
    if (!d_table.defined()) return t.tape.status();
    if (Status s = fill_relative_gradient(t.node(y).gradient, buckets, offset, d_table); !s.ok()) {
      return s;
    }
    float* sums = t.gradient(table);
    const float* more = d_table.data<float>();
    for (std::int64_t i = 0; i < d_table.size(); ++i) sums[i] = sums[i] + more[i];
    return {};
  };
  return y;
}

}  // namespace qkv::nn
