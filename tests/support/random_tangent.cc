#include "support/random_tangent.h"

#include <stdexcept>

namespace qkv::test {

RandomTangent::RandomTangent(std::uint64_t seed, const Limits& limits)
    : RandomGradient(seed, limits) {
  draw_directions();
  const GradientProblem& g = gradient();
  AttentionOptions options = problem().options;
  of_attention_.gradient.inputs = of_gradients_.gradient.inputs = g.inputs;
  of_attention_.inputs = of_gradients_.inputs = tangents_;
  const TensorView& query = problem().inputs.query;
  std::vector<std::int64_t> shape(query.extents.begin(), query.extents.begin() + query.rank);
  shape.back() = problem().d_v();
  const DType type = pick(2) == 0 ? DType::kFloat32 : problem().inputs.value.dtype;
  of_attention_.outputs.out = new_tensor(type, shape, static_cast<int>(pick(5)));
  note_output();
  shape.pop_back();
  if (problem().packed()) shape = {problem().query_heads(), problem().queries()};
  of_attention_.outputs.lse = new_tensor(DType::kFloat32, shape, static_cast<int>(pick(5)));
  note_output();
  of_gradients_.gradient.outputs = g.outputs;
  Status status = validate(of_attention_, options);
  if (status.ok()) {
    if (options.score_mod) {  // what the forward pass gave was with it
      GradientInputs& in = of_gradients_.gradient.inputs;
      in.out = in.row_max = in.row_sum = in.lse = TensorView();
    }
    options.score_mod = nullptr;
    options.score_mod_gradient = nullptr;
    status = validate(of_gradients_, options);
  }
  if (!status.ok()) throw std::logic_error(description() + ": " + status.message());
}

TensorView RandomTangent::direction(const char* name, const TensorView& like) {
  const int kind = level(std::string(name) + " tangent", {"f32", "f32", "as it", "absent"});
  if (kind == 3) return {};
  const std::vector<std::int64_t> shape(like.extents.begin(), like.extents.begin() + like.rank);
  const MutableTensorView view =
      new_tensor(kind == 2 ? like.dtype : DType::kFloat32, shape, static_cast<int>(pick(5)));
  const bool special = levels().count("values") != 0 && levels().at("values") == "special";
  fill(view, 1.0, special && pick(3) == 0 ? 1 : 0, 0);
  return view;
}

void RandomTangent::draw_directions() {
  const Problem& p = problem();
  const AttentionInputs& in = p.inputs;
  tangents_.query = direction("query", in.query);
  tangents_.key = direction("key", in.key);
  tangents_.value = direction("value", in.value);
  const TensorView& bias = p.options.bias.defined() ? p.options.bias : p.options.mask;
  if (p.bias.defined()) tangents_.bias = direction("bias", bias);
  if (!p.options.sinks.empty()) {
    tangents_.sinks = direction("sinks", TensorView(nullptr, DType::kFloat32, {p.query_heads()}));
  }
  const GradientInputs& g = gradient().inputs;
  if (g.d_out.defined()) tangents_.d_out = direction("d_out", g.d_out);
  if (g.d_lse.defined()) tangents_.d_lse = direction("d_lse", g.d_lse);
}

}  // namespace qkv::test
