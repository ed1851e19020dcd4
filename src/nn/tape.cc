#include <algorithm>
#include <atomic>

#include "nn/tape_impl.h"
#include "plan/isa.h"
#include "problem/checks.h"
#include "simd/float_environment.h"

namespace qkv::nn {

void Tape::Impl::begin() {
  static std::atomic<std::uint64_t> fillings{0};
  filling = ++fillings;
  nodes.clear();
  used = 0;
}

Tensor Tape::Impl::take(std::span<const std::int64_t> shape) {
  const std::int64_t size = count_of(shape);  // -1: allocate() will say why
  if (used == memory.size()) memory.emplace_back();
  Tensor& tensor = memory[used++];
  if (!tensor.defined() || tensor.size() != size) {
    if (Status s = allocate(DType::kFloat32, shape, tensor); !s.ok()) {
      tape.fail(s);
      return {};
    }
  }
  // The same memory in this shape.
  MutableTensorView view(tensor.data<float>(), DType::kFloat32, shape);
  return Tensor(std::shared_ptr<void>(tensor.storage()), view);
}

float* Tape::Impl::gradient(Var x) {
  Node& at = node(x);
  if (!at.gradient.defined()) {
    at.gradient = take(shape_of(at.value));
    if (!at.gradient.defined()) return nullptr;
    float* numbers = at.gradient.data<float>();
    std::fill(numbers, numbers + at.gradient.size(), 0.0f);
  }
  return at.gradient.data<float>();
}

Var Tape::Impl::push(Tensor value, std::initializer_list<Var> inputs) {
  if (!value.defined()) return {};
  Node added;
  added.value = std::move(value);
  for (Var input : inputs) added.learns = added.learns || learns(input);
  nodes.push_back(std::move(added));
  return {static_cast<int>(nodes.size()) - 1, filling};
}

bool Tape::Impl::usable(const char* operation, std::initializer_list<Var> inputs) {
  if (!tape.status().ok()) return false;
  for (Var input : inputs) {
    if (!knows(input)) {
      fail(std::string(operation) +
           ": an input is no value of this tape; make it after clear(), on the same tape");
      return false;
    }
  }
  return true;
}

const LayerKernel* Tape::Impl::layers() {
  const KernelSet* kernels;
  if (Status s = select_kernels(execution.isa, &kernels); !s.ok()) {
    tape.fail(s);
    return nullptr;
  }
  return &kernels->layers;
}

Tape::Tape(const ExecutionOptions& execution) : impl_(std::make_unique<Impl>(*this, execution)) {}
Tape::~Tape() = default;

void Tape::clear() {
  impl_->begin();
  status_ = Status();
}

Var Tape::constant(const TensorView& values) {
  if (!impl_->usable("constant", {})) return {};
  if (Status s = check_view("constant", values); !s.ok()) return impl_->fail(s);
  if (!values.defined() || values.dtype != DType::kFloat32) {
    return impl_->fail("constant: " + describe(values) + " is no float32 tensor; pass one");
  }
  if (Status s = check_pointer("constant", values); !s.ok()) return impl_->fail(s);
  Tensor copy = impl_->take({values.extents.data(), static_cast<std::size_t>(values.rank)});
  if (!copy.defined()) return {};
  TensorView from = values;
  while (from.rank < kMaxRank) {
    from.extents[from.rank] = 1;
    from.strides[from.rank] = 0;
    ++from.rank;
  }
  const auto* numbers = static_cast<const float*>(from.data);
  float* to = copy.data<float>();
  for (std::int64_t a = 0; a < from.extents[0]; ++a)
    for (std::int64_t b = 0; b < from.extents[1]; ++b)
      for (std::int64_t c = 0; c < from.extents[2]; ++c)
        for (std::int64_t d = 0; d < from.extents[3]; ++d)
          *to++ = numbers[a * from.strides[0] + b * from.strides[1] + c * from.strides[2] +
                          d * from.strides[3]];
  return impl_->push(std::move(copy), {});
}

Var Tape::parameter(Parameter& parameter) {
  if (!impl_->usable("parameter", {})) return {};
  // The tensor itself: an optimiser's step comes after backward().
  const Var x = impl_->push(parameter.value, {});
  if (!x.defined()) return impl_->fail("parameter: " + parameter.name + " has no value");
  impl_->node(x).learns = true;
  impl_->node(x).parameter = &parameter;
  impl_->node(x).gradient = parameter.gradient;
  return x;
}

TensorView Tape::value(Var x) const {
  if (!status_.ok() || !impl_->knows(x)) return {};
  return impl_->node(x).value;
}

TensorView Tape::gradient(Var x) const {
  if (!status_.ok() || !impl_->knows(x)) return {};
  return impl_->node(x).gradient;
}

void Tape::run_backward(Var loss) {
  if (!impl_->usable("backward", {loss})) return;
  if (impl_->value(loss).size() != 1) {
    impl_->fail("backward: the loss has shape " + shape_string(impl_->value(loss)) +
                "; it must be a single number");
    return;
  }
  if (!impl_->learns(loss)) {
    impl_->fail("backward: no parameter lies behind the loss; use one");
    return;
  }
  const FloatEnvironment environment;
  // What an earlier call left in between would be passed back a second time.
  for (Impl::Node& node : impl_->nodes) {
    if (node.parameter != nullptr || !node.gradient.defined()) continue;
    std::fill_n(node.gradient.data<float>(), node.gradient.size(), 0.0f);
  }
  float* one = impl_->gradient(loss);
  if (one == nullptr) return;
  *one = *one + 1.0f;  // the loss may be a parameter
  for (int n = loss.index; n >= 0; --n) {
    Impl::Node& node = impl_->nodes[static_cast<std::size_t>(n)];
    if (!node.backward || !node.gradient.defined()) continue;
    if (Status s = node.backward(); !s.ok()) {
      fail(s);
      return;
    }
  }
}

}  // namespace qkv::nn
