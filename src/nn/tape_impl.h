// What a tape holds: values in the order they were made, and how to go back through each.
#ifndef QKV_NN_TAPE_IMPL_H_
#define QKV_NN_TAPE_IMPL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "qkv/nn.h"

namespace qkv::nn {

struct Tape::Impl {
  struct Node {
    Tensor value, gradient;
    bool learns = false;             // does a parameter lie behind it?
    Parameter* parameter = nullptr;  // whose gradient gets this node's
    // Adds to the gradients of the inputs. Empty for leaves.
    std::function<Status()> backward;
  };

  explicit Impl(Tape& owner, const ExecutionOptions& options) : tape(owner), execution(options) {
    begin();
  }

  // Begins to fill the tape: values made before are no longer known.
  void begin();
  bool knows(Var x) const {
    return x.filling == filling && x.index >= 0 && x.index < static_cast<int>(nodes.size());
  }

  // A row-major float32 tensor of memory that is used again after clear(). Not cleared.
  Tensor take(std::span<const std::int64_t> shape);
  Tensor take(std::initializer_list<std::int64_t> shape) {
    return take(std::span<const std::int64_t>(shape.begin(), shape.size()));
  }

  Node& node(Var x) { return nodes[static_cast<std::size_t>(x.index)]; }
  const Tensor& value(Var x) { return node(x).value; }
  float* numbers(Var x) { return node(x).value.data<float>(); }
  bool learns(Var x) { return x.defined() && node(x).learns; }
  // The gradient of x, zeros at first.
  float* gradient(Var x);

  // A new value; `inputs` tell whether it learns.
  Var push(Tensor value, std::initializer_list<Var> inputs);
  // Are all of them values of this tape? If not, the tape has failed, or fails now.
  bool usable(const char* operation, std::initializer_list<Var> inputs);
  Var fail(const std::string& message) {
    tape.fail(invalid_argument(message));
    return {};
  }
  Var fail(const Status& status) {
    tape.fail(status);
    return {};
  }

  // y = f(x), number by number.
  Var apply(const char* name, Var x, void (*function)(const float*, std::int64_t, float*),
            void (*derivative)(const float*, const float*, std::int64_t, float*));

  // Of layer_ops.cc.
  Status linear_gradient(Var x, Var weight, Var bias, const TensorView& d_y);
  Var normalized(const char* name, Var x, Var gain, bool center, float epsilon);
  Var add_over_rows(Var x, Var row);
  Status add_column_sums(const Tensor& x, float* sums);

  const LayerKernel* layers();  // null if the instruction set asked for is not here

  Tape& tape;
  ExecutionOptions execution;
  std::uint64_t filling = 0;  // no two of a program are the same
  std::deque<Node> nodes;
  std::size_t used = 0;  // of memory
  std::vector<Tensor> memory;
};

// How many numbers a shape has; -1 for a negative extent, or more than an int64 can say.
inline std::int64_t count_of(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return -1;
  }
  return count;
}

// Shapes, for checks and messages.
inline std::span<const std::int64_t> shape_of(const Tensor& x) {
  return {x.view().extents.data(), static_cast<std::size_t>(x.rank())};
}
inline std::int64_t last_extent(const Tensor& x) {
  return x.rank() == 0 ? 1 : x.extent(x.rank() - 1);
}
inline std::int64_t rows_of(const Tensor& x) {
  const std::int64_t d = last_extent(x);
  return d == 0 ? 0 : x.size() / d;
}
// x as a matrix [rows, last dimension].
inline MutableTensorView as_matrix(const Tensor& x, float* data) {
  return {data, {rows_of(x), last_extent(x)}};
}

}  // namespace qkv::nn

#endif  // QKV_NN_TAPE_IMPL_H_
