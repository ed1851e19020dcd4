// Operations on every number by itself, and losses.
#include <algorithm>
#include <limits>

#include "nn/tape_impl.h"
#include "simd/float_environment.h"
#include "simd/philox.h"

namespace qkv::nn {
namespace {

// How often the numbers of b repeat in a, if its shape is that of a's last dimensions; -1
// otherwise.
std::int64_t repeats(const Tensor& a, const Tensor& b) {
  if (b.rank() > a.rank()) return -1;
  for (int axis = 0; axis < b.rank(); ++axis) {
    if (b.extent(axis) != a.extent(axis + a.rank() - b.rank())) return -1;
  }
  return b.size() == 0 ? 1 : a.size() / b.size();
}

std::string dont_fit(const char* operation, const Tensor& a, const Tensor& b) {
  return std::string(operation) + ": a " + shape_string(a) + " and b " + shape_string(b) +
         " don't fit; b must have the shape of a or of its last dimensions";
}

}  // namespace

Var Tape::add(Var a, Var b) {
  if (!impl_->usable("add", {a, b})) return {};
  const std::int64_t times = repeats(impl_->value(a), impl_->value(b));
  if (times < 0) return impl_->fail(dont_fit("add", impl_->value(a), impl_->value(b)));
  const FloatEnvironment environment;
  const Var y = impl_->push(impl_->take(shape_of(impl_->value(a))), {a, b});
  if (!y.defined()) return {};
  const std::int64_t size = impl_->value(b).size();
  const float *of_a = impl_->numbers(a), *of_b = impl_->numbers(b);
  float* to = impl_->numbers(y);
  for (std::int64_t n = 0; n < times; ++n) {
    for (std::int64_t i = 0; i < size; ++i) to[n * size + i] = of_a[n * size + i] + of_b[i];
  }
  impl_->node(y).backward = [impl = impl_.get(), a, b, y, times, size]() -> Status {
    const float* d_y = impl->gradient(y);
    if (impl->learns(a)) {
      float* d_a = impl->gradient(a);
      for (std::int64_t i = 0; i < times * size; ++i) d_a[i] = d_a[i] + d_y[i];
    }
    if (impl->learns(b)) {  // the repeats left to right
      float* d_b = impl->gradient(b);
      for (std::int64_t n = 0; n < times; ++n) {
        for (std::int64_t i = 0; i < size; ++i) d_b[i] = d_b[i] + d_y[n * size + i];
      }
    }
    return {};
  };
  return y;
}

Var Tape::multiply(Var a, Var b) {
  if (!impl_->usable("multiply", {a, b})) return {};
  const std::int64_t times = repeats(impl_->value(a), impl_->value(b));
  if (times < 0) return impl_->fail(dont_fit("multiply", impl_->value(a), impl_->value(b)));
  const FloatEnvironment environment;
  const Var y = impl_->push(impl_->take(shape_of(impl_->value(a))), {a, b});
  if (!y.defined()) return {};
  const std::int64_t size = impl_->value(b).size();
  const float *of_a = impl_->numbers(a), *of_b = impl_->numbers(b);
  float* to = impl_->numbers(y);
  for (std::int64_t n = 0; n < times; ++n) {
    for (std::int64_t i = 0; i < size; ++i) to[n * size + i] = of_a[n * size + i] * of_b[i];
  }
  impl_->node(y).backward = [impl = impl_.get(), a, b, y, times, size]() -> Status {
    const float *d_y = impl->gradient(y), *x_a = impl->numbers(a), *x_b = impl->numbers(b);
    if (impl->learns(a)) {
      float* d_a = impl->gradient(a);
      for (std::int64_t n = 0; n < times; ++n) {
        for (std::int64_t i = 0; i < size; ++i) {
          d_a[n * size + i] = d_a[n * size + i] + d_y[n * size + i] * x_b[i];
        }
      }
    }
    if (impl->learns(b)) {
      float* d_b = impl->gradient(b);
      for (std::int64_t n = 0; n < times; ++n) {
        for (std::int64_t i = 0; i < size; ++i) {
          d_b[i] = d_b[i] + d_y[n * size + i] * x_a[n * size + i];
        }
      }
    }
    return {};
  };
  return y;
}

Var Tape::scale(Var x, float factor) {
  if (!impl_->usable("scale", {x})) return {};
  const FloatEnvironment environment;
  const Var y = impl_->push(impl_->take(shape_of(impl_->value(x))), {x});
  if (!y.defined()) return {};
  const std::int64_t size = impl_->value(x).size();
  const float* from = impl_->numbers(x);
  float* to = impl_->numbers(y);
  for (std::int64_t i = 0; i < size; ++i) to[i] = from[i] * factor;
  impl_->node(y).backward = [impl = impl_.get(), x, y, factor, size]() -> Status {
    if (!impl->learns(x)) return {};
    const float* d_y = impl->gradient(y);
    float* d_x = impl->gradient(x);
    for (std::int64_t i = 0; i < size; ++i) d_x[i] = d_x[i] + d_y[i] * factor;
    return {};
  };
  return y;
}

Var Tape::gelu(Var x) {
  const LayerKernel* kernel = impl_->layers();
  return kernel == nullptr ? Var() : impl_->apply("gelu", x, kernel->gelu, kernel->gelu_gradient);
}

Var Tape::silu(Var x) {
  const LayerKernel* kernel = impl_->layers();
  return kernel == nullptr ? Var() : impl_->apply("silu", x, kernel->silu, kernel->silu_gradient);
}

Var Tape::Impl::apply(const char* name, Var x, void (*function)(const float*, std::int64_t, float*),
                      void (*derivative)(const float*, const float*, std::int64_t, float*)) {
  if (!usable(name, {x})) return {};
  const FloatEnvironment environment;
  const Var y = push(take(shape_of(value(x))), {x});
  if (!y.defined()) return {};
  function(numbers(x), value(x).size(), numbers(y));
  node(y).backward = [this, x, y, derivative]() -> Status {
    if (learns(x)) derivative(numbers(x), gradient(y), value(x).size(), gradient(x));
    return {};
  };
  return y;
}

Var Tape::reshape(Var x, std::span<const std::int64_t> shape) {
  if (!impl_->usable("reshape", {x})) return {};
  const Tensor& from = impl_->value(x);
  const std::int64_t size = count_of(shape);
  const MutableTensorView view(from.data<float>(), DType::kFloat32, shape);
  if (shape.size() > kMaxRank || size != from.size()) {
    return impl_->fail("reshape: " + shape_string(from) + " has " + std::to_string(from.size()) +
                       " numbers, " + shape_string(view) +
                       " has not; pass at most 4 extents whose product is that");
  }
  const Var y = impl_->push(Tensor(from.storage(), view), {x});
  impl_->node(y).backward = [impl = impl_.get(), x, y, size]() -> Status {
    if (!impl->learns(x)) return {};
    const float* d_y = impl->gradient(y);
    float* d_x = impl->gradient(x);
    for (std::int64_t i = 0; i < size; ++i) d_x[i] = d_x[i] + d_y[i];
    return {};
  };
  return y;
}

Var Tape::dropout(Var x, double probability, std::uint64_t seed) {
  if (!impl_->usable("dropout", {x})) return {};
  if (!(probability >= 0 && probability <= 1)) {
    return impl_->fail("dropout: probability " + std::to_string(probability) +
                       " is out of range; pass 0 to 1");
  }
  const FloatEnvironment environment;
  const Var y = impl_->push(impl_->take(shape_of(impl_->value(x))), {x});
  Tensor factors = impl_->take(shape_of(impl_->value(x)));
  if (!y.defined() || !factors.defined()) return {};
  const std::int64_t size = factors.size();
  const std::uint64_t threshold = dropout_threshold(probability);
  const float kept = probability == 1 ? 0.0f : static_cast<float>(1 / (1 - probability));
  float* factor = factors.data<float>();
  const float* from = impl_->numbers(x);
  float* to = impl_->numbers(y);
  for (std::int64_t i = 0; i < size; i += 4) {
    // Word n of the counter (place / 4, its upper half, 0, 0) is for place i + n.
    const auto group = static_cast<std::uint64_t>(i / 4);
    const std::uint32_t counter[4] = {static_cast<std::uint32_t>(group),
                                      static_cast<std::uint32_t>(group >> 32), 0, 0};
    std::uint32_t word[4];
    philox(counter, seed, word);
    for (std::int64_t n = i; n < std::min(i + 4, size); ++n) {
      factor[n] = word[n - i] >= threshold ? kept : 0.0f;
      to[n] = word[n - i] >= threshold ? from[n] * kept : 0.0f;
    }
  }
  impl_->node(y).backward = [impl = impl_.get(), x, y, factors, size]() -> Status {
    if (!impl->learns(x)) return {};
    const float *d_y = impl->gradient(y), *of = factors.data<float>();
    float* d_x = impl->gradient(x);
    for (std::int64_t i = 0; i < size; ++i) {
      if (of[i] != 0.0f) d_x[i] = d_x[i] + d_y[i] * of[i];
    }
    return {};
  };
  return y;
}

Var Tape::mean_over_tokens(Var x) {
  if (!impl_->usable("mean_over_tokens", {x})) return {};
  const Tensor& from = impl_->value(x);
  const int axis = from.rank() - 2;  // of the tokens
  if (axis < 0 || axis >= kMaxRank || from.extent(axis) == 0) {
    return impl_->fail("mean_over_tokens: shape " + shape_string(from) +
                       " has no tokens; pass [..., tokens, d] with one at least");
  }
  const FloatEnvironment environment;
  const std::int64_t d = last_extent(from), tokens = from.extent(axis);
  const std::int64_t sets = d == 0 ? 0 : from.size() / (tokens * d);
  std::vector<std::int64_t> shape(shape_of(from).begin(), shape_of(from).end());
  shape.erase(shape.end() - 2);
  const Var y = impl_->push(impl_->take(shape), {x});
  if (!y.defined()) return {};
  const float* in = impl_->numbers(x);
  float* to = impl_->numbers(y);
  const auto count = static_cast<float>(tokens);
  for (std::int64_t n = 0; n < sets; ++n) {
    for (std::int64_t c = 0; c < d; ++c) {
      float sum = 0;
      for (std::int64_t t = 0; t < tokens; ++t) sum = sum + in[(n * tokens + t) * d + c];
      to[n * d + c] = sum / count;
    }
  }
  impl_->node(y).backward = [impl = impl_.get(), x, y, sets, tokens, d, count]() -> Status {
    if (!impl->learns(x)) return {};
    const float* d_y = impl->gradient(y);
    float* d_x = impl->gradient(x);
    for (std::int64_t n = 0; n < sets; ++n) {
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::int64_t c = 0; c < d; ++c) {
          float& sum = d_x[(n * tokens + t) * d + c];
          sum = sum + d_y[n * d + c] / count;
        }
      }
    }
    return {};
  };
  return y;
}

// ---- Losses -------------------------------------------------------------------------------------

Var Tape::cross_entropy(Var logits, std::span<const std::int64_t> targets) {
  if (!impl_->usable("cross_entropy", {logits})) return {};
  const Tensor& x = impl_->value(logits);
  const std::int64_t rows = rows_of(x), classes = last_extent(x);
  if (static_cast<std::int64_t>(targets.size()) != rows) {
    return impl_->fail("cross_entropy: " + std::to_string(targets.size()) + " targets for logits " +
                       shape_string(x) + "; pass one a row");
  }
  std::int64_t counted = 0;
  for (std::int64_t target : targets) {
    if (target >= classes) {
      return impl_->fail("cross_entropy: target " + std::to_string(target) + " of " +
                         std::to_string(classes) + " classes; count from 0");
    }
    counted += target >= 0;
  }
  if (counted == 0) {
    return impl_->fail("cross_entropy: no target counts; pass one that isn't negative");
  }
  const LayerKernel* kernel = impl_->layers();
  if (kernel == nullptr) return {};
  const FloatEnvironment environment;
  Tensor probabilities = impl_->take(shape_of(x));
  const Var loss = impl_->push(impl_->take(std::initializer_list<std::int64_t>{}), {logits});
  if (!probabilities.defined() || !loss.defined()) return {};
  std::vector<double> lse(static_cast<std::size_t>(rows));
  kernel->softmax(impl_->numbers(logits), rows, classes, probabilities.data<float>(), lse.data());
  double sum = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t target = targets[static_cast<std::size_t>(r)];
    if (target < 0) continue;
    sum += lse[static_cast<std::size_t>(r)] -
           static_cast<double>(impl_->numbers(logits)[r * classes + target]);
  }
  *impl_->numbers(loss) = static_cast<float>(sum / static_cast<double>(counted));
  impl_->node(loss).backward =
      [impl = impl_.get(), logits, loss, probabilities, rows, classes, counted,
       kept = std::vector<std::int64_t>(targets.begin(), targets.end())]() -> Status {
    const float factor = *impl->gradient(loss) / static_cast<float>(counted);
    const float* p = probabilities.data<float>();
    float* d_x = impl->gradient(logits);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t target = kept[static_cast<std::size_t>(r)];
      if (target < 0) continue;
      for (std::int64_t c = 0; c < classes; ++c) {
        const float off = c == target ? p[r * classes + c] - 1.0f : p[r * classes + c];
        d_x[r * classes + c] = d_x[r * classes + c] + off * factor;
      }
    }
    return {};
  };
  return loss;
}

Var Tape::mean_squared_error(Var x, const TensorView& target) {
  if (!impl_->usable("mean_squared_error", {x})) return {};
  const Var right = constant(target);
  if (!right.defined()) return {};
  const std::int64_t size = impl_->value(x).size();
  if (shape_string(impl_->value(x)) != shape_string(impl_->value(right)) || size == 0) {
    return impl_->fail("mean_squared_error: x " + shape_string(impl_->value(x)) + " and target " +
                       shape_string(target) + " must have one shape, with numbers in it");
  }
  const FloatEnvironment environment;
  const Var loss = impl_->push(impl_->take(std::initializer_list<std::int64_t>{}), {x});
  if (!loss.defined()) return {};
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double off =
        static_cast<double>(impl_->numbers(x)[i]) - static_cast<double>(impl_->numbers(right)[i]);
    sum += off * off;
  }
  *impl_->numbers(loss) = static_cast<float>(sum / static_cast<double>(size));
  impl_->node(loss).backward = [impl = impl_.get(), x, right, loss, size]() -> Status {
    const float factor = *impl->gradient(loss) * 2.0f / static_cast<float>(size);
    float* d_x = impl->gradient(x);
    for (std::int64_t i = 0; i < size; ++i) {
      d_x[i] = d_x[i] + (impl->numbers(x)[i] - impl->numbers(right)[i]) * factor;
    }
    return {};
  };
  return loss;
}

}  // namespace qkv::nn
