// Linear maps, embeddings, normalisation.
#include <algorithm>

#include "nn/tape_impl.h"
#include "plan/product.h"
#include "simd/float_environment.h"

namespace qkv::nn {

Var Tape::linear(Var x, Var weight, Var bias) {
  if (!impl_->usable("linear", {x, weight})) return {};
  if (bias.defined() && !impl_->usable("linear", {bias})) return {};
  const Tensor &in = impl_->value(x), &w = impl_->value(weight);
  if (in.rank() == 0 || w.rank() != 2 || last_extent(in) != w.extent(1)) {
    return impl_->fail("linear: x " + shape_string(in) + " and weight " + shape_string(w) +
                       " don't fit; weight must be [out, in], with the last dimension of x as in");
  }
  const std::int64_t out = w.extent(0), rows = rows_of(in);
  if (bias.defined() && (impl_->value(bias).rank() != 1 || impl_->value(bias).extent(0) != out)) {
    return impl_->fail("linear: bias " + shape_string(impl_->value(bias)) + " and weight " +
                       shape_string(w) + " don't fit; bias must be [out]");
  }
  const FloatEnvironment environment;
  std::vector<std::int64_t> shape(shape_of(in).begin(), shape_of(in).end());
  shape.back() = out;
  const Var y = bias.defined() ? impl_->push(impl_->take(shape), {x, weight, bias})
                               : impl_->push(impl_->take(shape), {x, weight});
  if (!y.defined()) return {};
  const MutableTensorView y_rows(impl_->numbers(y), {rows, out});
  if (Status s = run_product(as_matrix(in, impl_->numbers(x)), w.view().transposed(0, 1), y_rows,
                             impl_->execution);
      !s.ok()) {
    return impl_->fail(s);
  }
  if (bias.defined()) {
    const float* b = impl_->numbers(bias);
    float* to = impl_->numbers(y);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < out; ++c) to[r * out + c] = to[r * out + c] + b[c];
    }
  }
  impl_->node(y).backward = [impl = impl_.get(), x, weight, bias, y, rows, out]() -> Status {
    return impl->linear_gradient(x, weight, bias, {impl->gradient(y), {rows, out}});
  };
  return y;
}

Status Tape::Impl::linear_gradient(Var x, Var weight, Var bias, const TensorView& d_y) {
  const std::int64_t rows = d_y.extents[0], out = d_y.extents[1];
  const auto add = [](float* sums, const Tensor& more) {
    const float* from = more.data<float>();
    for (std::int64_t i = 0; i < more.size(); ++i) sums[i] = sums[i] + from[i];
  };
  if (learns(x)) {
    const Tensor d_x = take({rows, last_extent(value(x))});
    if (!d_x.defined()) return tape.status();
    if (Status s = run_product(d_y, value(weight).view(), d_x, execution); !s.ok()) return s;
    add(gradient(x), d_x);
  }
  if (learns(weight)) {
    const Tensor d_weight = take(shape_of(value(weight)));
    if (!d_weight.defined()) return tape.status();
    if (Status s = run_product_over_rows(d_y, as_matrix(value(x), numbers(x)), d_weight, execution);
        !s.ok()) {
      return s;
    }
    add(gradient(weight), d_weight);
  }
  if (learns(bias)) {
    // A sum over rows: d_y transposed times a column of ones.
    const Tensor d_bias = take({out, 1});
    if (!d_bias.defined()) return tape.status();
    static constexpr float kOne = 1.0f;
    TensorView ones(&kOne, {rows, 1});
    ones.strides = {};
    if (Status s = run_product_over_rows(d_y, ones, d_bias, execution); !s.ok()) return s;
    add(gradient(bias), d_bias);
  }
  return {};
}

Var Tape::embedding(Var table, std::span<const std::int64_t> ids,
                    std::span<const std::int64_t> shape) {
  if (!impl_->usable("embedding", {table})) return {};
  const Tensor& rows = impl_->value(table);
  const std::int64_t size = count_of(shape);
  if (rows.rank() != 2 || size != static_cast<std::int64_t>(ids.size()) ||
      shape.size() >= static_cast<std::size_t>(kMaxRank)) {
    return impl_->fail("embedding: table " + shape_string(rows) + " and " +
                       std::to_string(ids.size()) + " ids in a shape " +
                       shape_string(TensorView(nullptr, DType::kFloat32, shape)) +
                       " don't fit; pass a table [count, d] and one id a place");
  }
  const std::int64_t count = rows.extent(0), d = rows.extent(1);
  for (std::int64_t id : ids) {
    if (id < 0 || id >= count) {
      return impl_->fail("embedding: id " + std::to_string(id) + " is not among the " +
                         std::to_string(count) + " rows of the table; count from 0");
    }
  }
  std::vector<std::int64_t> full(shape.begin(), shape.end());
  full.push_back(d);
  const Var y = impl_->push(impl_->take(full), {table});
  if (!y.defined()) return {};
  const float* from = impl_->numbers(table);
  float* to = impl_->numbers(y);
  for (std::size_t n = 0; n < ids.size(); ++n) {
    std::copy(from + ids[n] * d, from + (ids[n] + 1) * d, to + static_cast<std::int64_t>(n) * d);
  }
  impl_->node(y).backward = [impl = impl_.get(), table, y, d,
                             kept = std::vector<std::int64_t>(ids.begin(), ids.end())]() -> Status {
    if (!impl->learns(table)) return {};
    const float* d_y = impl->gradient(y);
    float* d_table = impl->gradient(table);
    for (std::size_t n = 0; n < kept.size(); ++n) {
      float* row = d_table + kept[n] * d;
      const float* more = d_y + static_cast<std::int64_t>(n) * d;
      for (std::int64_t c = 0; c < d; ++c) row[c] = row[c] + more[c];
    }
    return {};
  };
  return y;
}

// y = normalised x times gain, without the bias.
Var Tape::Impl::normalized(const char* name, Var x, Var gain, bool center, float epsilon) {
  if (!usable(name, {x, gain})) return {};
  const Tensor& in = value(x);
  const std::int64_t d = last_extent(in), rows = rows_of(in);
  if (in.rank() == 0 || d == 0 || value(gain).rank() != 1 || value(gain).extent(0) != d) {
    return fail(std::string(name) + ": x " + shape_string(in) + " and gain " +
                shape_string(value(gain)) +
                " don't fit; gain must be [d], the last dimension of x");
  }
  const LayerKernel* kernel = layers();
  if (kernel == nullptr) return {};
  const FloatEnvironment environment;
  const Var y = push(take(shape_of(in)), {x, gain});
  const Tensor unit = take(shape_of(in)), factors = take({rows});
  if (!y.defined() || !unit.defined() || !factors.defined()) return {};
  kernel->normalize(numbers(x), rows, d, center, epsilon, unit.data<float>(),
                    factors.data<float>());
  const float *from = unit.data<float>(), *g = numbers(gain);
  float* to = numbers(y);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < d; ++c) to[r * d + c] = from[r * d + c] * g[c];
  }
  node(y).backward = [this, x, gain, y, unit, factors, kernel, center, rows, d]() -> Status {
    const float *d_y = gradient(y), *u = unit.data<float>(), *g_c = numbers(gain);
    const Tensor d_unit = take({rows, d});
    if (!d_unit.defined()) return tape.status();
    float* product = d_unit.data<float>();
    if (learns(gain)) {
      for (std::int64_t i = 0; i < rows * d; ++i) product[i] = d_y[i] * u[i];
      if (Status s = add_column_sums(d_unit, gradient(gain)); !s.ok()) return s;
    }
    if (!learns(x)) return {};
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < d; ++c) product[r * d + c] = d_y[r * d + c] * g_c[c];
    }
    kernel->normalize_gradient(u, factors.data<float>(), product, rows, d, center, gradient(x));
    return {};
  };
  return y;
}

// sums[c] += the sum of column c over rows, in the order of sums over rows.
Status Tape::Impl::add_column_sums(const Tensor& x, float* sums) {
  const std::int64_t d = last_extent(x);
  const Tensor total = take({d, 1});
  if (!total.defined()) return tape.status();
  static constexpr float kOne = 1.0f;
  TensorView ones(&kOne, {rows_of(x), 1});
  ones.strides = {};
  if (Status s = run_product_over_rows(as_matrix(x, x.data<float>()), ones, total, execution);
      !s.ok()) {
    return s;
  }
  for (std::int64_t c = 0; c < d; ++c) sums[c] = sums[c] + total.data<float>()[c];
  return {};
}

Var Tape::layer_norm(Var x, Var gain, Var bias, float epsilon) {
  if (!impl_->usable("layer_norm", {x, gain, bias})) return {};
  const Var y = impl_->normalized("layer_norm", x, gain, true, epsilon);
  return impl_->add_over_rows(y, bias);
}

// x plus a row, whose gradient is a sum over rows.
Var Tape::Impl::add_over_rows(Var x, Var row) {
  if (!usable("layer_norm", {x, row})) return {};
  const std::int64_t d = last_extent(value(x)), rows = rows_of(value(x));
  if (value(row).rank() != 1 || value(row).extent(0) != d) {
    return fail("layer_norm: x " + shape_string(value(x)) + " and bias " +
                shape_string(value(row)) + " don't fit; bias must be [d], the last dimension of x");
  }
  const FloatEnvironment environment;
  const Var y = push(take(shape_of(value(x))), {x, row});
  if (!y.defined()) return {};
  const float *from = numbers(x), *b = numbers(row);
  float* to = numbers(y);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < d; ++c) to[r * d + c] = from[r * d + c] + b[c];
  }
  node(y).backward = [this, x, row, y, rows, d]() -> Status {
    const float* d_y = gradient(y);
    if (learns(x)) {
      float* d_x = gradient(x);
      for (std::int64_t i = 0; i < rows * d; ++i) d_x[i] = d_x[i] + d_y[i];
    }
    return learns(row) ? add_column_sums(node(y).gradient, gradient(row)) : Status();
  };
  return y;
}

Var Tape::rms_norm(Var x, Var gain, float epsilon) {
  return impl_->normalized("rms_norm", x, gain, false, epsilon);
}

}  // namespace qkv::nn
