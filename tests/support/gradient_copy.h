// Problems of gradients and of tangents with all tensors in another type, for yardsticks.
#ifndef QKV_TESTS_SUPPORT_GRADIENT_COPY_H_
#define QKV_TESTS_SUPPORT_GRADIENT_COPY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "problem/tangent_problem.h"
#include "tensor/element.h"

namespace qkv::test {

// Calls f(offset in view, index in row-major order) for each element of a rank-4 view.
template <class View, class F>
void for_each(const View& view, F f) {
  std::size_t index = 0;
  for (std::int64_t a = 0; a < view.extents[0]; ++a)
    for (std::int64_t b = 0; b < view.extents[1]; ++b)
      for (std::int64_t c = 0; c < view.extents[2]; ++c)
        for (std::int64_t d = 0; d < view.extents[3]; ++d) f(offset_of(view, a, b, c, d), index++);
}

// Row-major tensors of type T. Broadcast dimensions stay broadcast.
template <class T>
class CopiedTensors {
 public:
  // Replaces a rank-4 view, or does nothing if it is absent.
  void copy(TensorView& view) {
    if (!view.defined()) return;
    std::vector<T>& memory = memory_.emplace_back();
    const TensorView own = with_own_memory(view, memory);
    for (std::int64_t a = 0; a < view.extents[0]; ++a)
      for (std::int64_t b = 0; b < view.extents[1]; ++b)
        for (std::int64_t c = 0; c < view.extents[2]; ++c)
          for (std::int64_t d = 0; d < view.extents[3]; ++d)
            memory[static_cast<std::size_t>(offset_of(own, a, b, c, d))] =
                static_cast<T>(load_double(view, offset_of(view, a, b, c, d)));
    view = own;
  }
  // The same without the numbers.
  void renew(MutableTensorView& view) {
    if (view.defined()) view = with_own_memory(view, memory_.emplace_back());
  }
  MutableTensorView zeros(std::int64_t count) {
    return {memory_.emplace_back(static_cast<std::size_t>(count), T(0)).data(), {count}};
  }

 private:
  template <class View>
  static View with_own_memory(const View& view, std::vector<T>& memory) {
    Extents extents = view.extents;
    std::size_t size = 1;
    for (int axis = 0; axis < kMaxRank; ++axis) {
      if (view.strides[axis] == 0) extents[axis] = 1;
      size *= static_cast<std::size_t>(extents[axis]);
    }
    memory.assign(size, T(0));
    View own(memory.data(), {extents[0], extents[1], extents[2], extents[3]});
    for (int axis = 0; axis < kMaxRank; ++axis) {
      if (view.strides[axis] == 0) own.strides[axis] = 0;
    }
    own.extents = view.extents;
    return own;
  }

  std::deque<std::vector<T>> memory_;
};

// A problem whose inputs and results are copies in memory of its own.
template <class T>
class GradientCopy {
 public:
  explicit GradientCopy(const GradientProblem& g) : g_(g) {
    for (TensorView* view : {&g_.forward.query, &g_.forward.key, &g_.forward.value,
                             &g_.forward.bias, &g_.d_out, &g_.d_lse}) {
      tensors_.copy(*view);
    }
    for (MutableTensorView* view : {&g_.d_query, &g_.d_key, &g_.d_value, &g_.d_bias}) {
      tensors_.renew(*view);
    }
    if (g_.d_sinks.defined()) g_.d_sinks = tensors_.zeros(g_.d_sinks.extents[0]);
    g_.outputs.d_bias = g_.d_bias;
    g_.out = g_.row_max = g_.row_sum = TensorView();
  }

  GradientProblem& problem() { return g_; }

 private:
  GradientProblem g_;
  CopiedTensors<T> tensors_;
};

template <class T>
class TangentCopy {
 public:
  explicit TangentCopy(const TangentProblem& t) : gradient_(t.gradient), t_(t) {
    t_.gradient = gradient_.problem();
    for (TensorView* view : {&t_.query, &t_.key, &t_.value, &t_.bias, &t_.d_out, &t_.d_lse}) {
      tensors_.copy(*view);
    }
    for (MutableTensorView* view : {&t_.out, &t_.lse}) tensors_.renew(*view);
  }

  TangentProblem& problem() { return t_; }

 private:
  GradientCopy<T> gradient_;
  TangentProblem t_;
  CopiedTensors<T> tensors_;
};

}  // namespace qkv::test

#endif  // QKV_TESTS_SUPPORT_GRADIENT_COPY_H_
