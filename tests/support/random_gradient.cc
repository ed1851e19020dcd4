#include "support/random_gradient.h"

#include <stdexcept>

#include "kernels/exact/exact.h"

namespace qkv::test {
namespace {

std::vector<std::int64_t> shape_of(const TensorView& view) {
  return {view.extents.begin(), view.extents.begin() + view.rank};
}

}  // namespace

Limits span_crossing_gradient_limits() {
  Limits limits;
  limits.query_lengths = {17, 65, 130, 1025, 1056, 1100, 2049};
  limits.key_lengths = {2, 33, 70, 1025, 1057, 1100, 2048, 2049, 3073};
  limits.sizes = {1, 3, 4, 8, 15, 16, 17, 20};
  limits.max_batch = 1;
  limits.special_values = false;
  return limits;
}

RandomGradient::RandomGradient(std::uint64_t seed, const Limits& limits)
    : RandomProblem(seed, limits) {
  forget_outputs();
  gradient_.inputs.query = problem().inputs.query;
  gradient_.inputs.key = problem().inputs.key;
  gradient_.inputs.value = problem().inputs.value;
  draw_incoming();
  draw_results();
  const Status status = validate(gradient_, problem().options);
  if (!status.ok()) throw std::logic_error(description() + ": " + status.message());
}

void RandomGradient::draw_incoming() {
  const Problem& p = problem();
  const bool special = levels().count("values") != 0 && levels().at("values") == "special";
  GradientInputs& in = gradient_.inputs;
  const int d_out = level("d_out", {"f32", "f32", "bf16", "stride 0", "absent"});
  if (d_out <= 2) {
    const MutableTensorView view =
        new_tensor(d_out == 2 ? DType::kBFloat16 : DType::kFloat32, shape_of_out(p),
                   level("d_out layout", {"rows", "blhd", "gaps", "reversed", "every second"}));
    fill(view, 1.0, special && pick(2) == 0 ? 1 : 0, 0);
    in.d_out = view;
  } else if (d_out == 3) {
    const MutableTensorView one = new_tensor(DType::kFloat32, {1}, 0);
    fill(one, 1.0, 0, 0);
    const std::vector<std::int64_t> shape = shape_of_out(p);
    in.d_out = TensorView(one.data, DType::kFloat32, std::span<const std::int64_t>(shape));
    in.d_out.strides = {};
  }
  if (level("d_lse", {"no", "yes"}) == 1) {
    const MutableTensorView view =
        new_tensor(DType::kFloat32, shape_of_lse(p), static_cast<int>(pick(5)));
    fill(view, 1.0, 0, 0);
    in.d_lse = view;
  }
  const int forward = level("forward results", {"none", "row_max and row_sum", "lse"});
  if (forward == 0) return;
  const MutableTensorView out =
      new_tensor(DType::kFloat32, shape_of_out(p), static_cast<int>(pick(5)));
  MutableTensorView numbers[2];
  for (MutableTensorView& view : numbers) {
    view = new_tensor(DType::kFloat32, shape_of_lse(p), static_cast<int>(pick(5)));
  }
  Problem with_outputs = p;
  with_outputs.outputs = AttentionOutputs();
  in.out = with_outputs.outputs.out = out;
  if (forward == 1) {
    in.row_max = with_outputs.outputs.row_max = numbers[0];
    in.row_sum = with_outputs.outputs.row_sum = numbers[1];
  } else {
    in.lse = with_outputs.outputs.lse = numbers[0];
  }
  const Status status = validate(with_outputs);
  if (!status.ok()) throw std::logic_error(description() + ": " + status.message());
  exact::attention(with_outputs);
}

void RandomGradient::draw_results() {
  const Problem& p = problem();
  GradientOutputs& out = gradient_.outputs;
  const std::vector<std::string> layouts = {"rows", "blhd", "gaps", "reversed", "every second"};
  const int asked = level("results", {"all", "all", "all", "d_query", "d_key", "d_value"});
  const std::tuple<const char*, const TensorView*, MutableTensorView*> all[] = {
      {"d_query", &p.inputs.query, &out.d_query},
      {"d_key", &p.inputs.key, &out.d_key},
      {"d_value", &p.inputs.value, &out.d_value}};
  for (int n = 0; n < 3; ++n) {
    const auto& [name, like, view] = all[n];
    if (asked >= 3 && asked - 3 != n) continue;
    const DType type = pick(2) == 0 ? DType::kFloat32 : like->dtype;
    *view = new_tensor(type, shape_of(*like), level(std::string(name) + " layout", layouts));
    note_output();
  }
  const TensorView& bias = p.options.bias.defined() ? p.options.bias : p.options.mask;
  if (p.bias.defined() && level("d_bias", {"no", "yes"}) == 1) {
    out.d_bias = new_tensor(DType::kFloat32, shape_of(bias), static_cast<int>(pick(5)));
    note_output();
  }
  if (!p.options.sinks.empty() && level("d_sinks", {"no", "yes"}) == 1) {
    out.d_sinks = new_tensor(DType::kFloat32, {p.query_heads()}, static_cast<int>(pick(5)));
    note_output();
  }
}

}  // namespace qkv::test
