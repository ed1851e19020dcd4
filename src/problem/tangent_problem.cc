#include "problem/tangent_problem.h"

#include <string>
#include <tuple>
#include <vector>

#include "problem/checks.h"
#include "tensor/element.h"

namespace qkv {
namespace {

// Is the tangent of this shape and a type that goes with the problem's?
Status check_tangent(const char* name, const TensorView& view, std::span<const std::int64_t> shape,
                     const Problem& p) {
  if (Status s = check_shape(name, view, shape, p); !s.ok()) return s;
  if (!is_floating(view.dtype) || (view.dtype == DType::kFloat64) != p.is_float64()) {
    return invalid_argument(std::string(name) + ": type " + std::string(name_of(view.dtype)) +
                            " does not fit; pass " +
                            (p.is_float64() ? "float64" : "float32, float16 or bfloat16"));
  }
  return {};
}

std::span<const std::int64_t> shape_of(const TensorView& view) {
  return {view.extents.data(), static_cast<std::size_t>(view.rank)};
}

Status check_inputs(TangentProblem& t) {
  const Problem& p = t.gradient.forward;
  const std::vector<std::int64_t> out = shape_of_out(p), lse = shape_of_lse(p);
  const std::tuple<const char*, const TensorView*, std::span<const std::int64_t>, TensorView*>
      all[] = {{"tangents.query", &t.inputs.query, shape_of(p.inputs.query), &t.query},
               {"tangents.key", &t.inputs.key, shape_of(p.inputs.key), &t.key},
               {"tangents.value", &t.inputs.value, shape_of(p.inputs.value), &t.value},
               {"tangents.d_out", &t.inputs.d_out, out, &t.d_out},
               {"tangents.d_lse", &t.inputs.d_lse, lse, &t.d_lse}};
  for (const auto& [name, view, shape, normal] : all) {
    *normal = TensorView();
    const bool of_gradients = view == &t.inputs.d_out || view == &t.inputs.d_lse;
    if (!view->defined() || (of_gradients && !t.of_gradients())) continue;
    if (Status s = check_tangent(name, *view, shape, p); !s.ok()) return s;
    *normal = view == &t.inputs.d_lse ? to_rank4(with_unit_axis(*view)) : normal_rows(*view, p);
  }
  return {};
}

Status check_bias_and_sinks(TangentProblem& t) {
  const Problem& p = t.gradient.forward;
  t.bias = t.sinks = TensorView();
  if (const TensorView& view = t.inputs.bias; view.defined()) {
    const TensorView& bias = p.options.bias.defined() ? p.options.bias : p.options.mask;
    if (!p.bias.defined()) {
      return invalid_argument("tangents.bias: there is no bias; leave it out");
    }
    if (shape_string(view) != shape_string(bias)) {
      return invalid_argument("tangents.bias " + shape_string(view) + " and bias " +
                              shape_string(bias) + " differ in shape; make them equal");
    }
    if (Status s = check_tangent("tangents.bias", view, shape_of(bias), p); !s.ok()) return s;
    if (Status s = broadcast_to_scores("tangents.bias", view, p, t.bias); !s.ok()) return s;
  }
  if (const TensorView& view = t.inputs.sinks; view.defined()) {
    if (p.options.sinks.empty()) {
      return invalid_argument("tangents.sinks: there are no sinks; leave it out");
    }
    const std::int64_t heads[] = {p.query_heads()};
    if (Status s = check_tangent("tangents.sinks", view, heads, p); !s.ok()) return s;
    t.sinks = view;
  }
  return {};
}

Status check_outputs(TangentProblem& t) {
  const Problem& p = t.gradient.forward;
  const AttentionInputs& in = p.inputs;
  t.out = t.lse = MutableTensorView();
  if (const MutableTensorView& view = t.outputs.out; view.defined()) {
    if (Status s = check_shape("outputs.out", view, shape_of_out(p), p); !s.ok()) return s;
    if (view.dtype != DType::kFloat32 && view.dtype != in.query.dtype &&
        view.dtype != in.key.dtype && view.dtype != in.value.dtype) {
      return invalid_argument("outputs.out: type " + std::string(name_of(view.dtype)) +
                              " does not fit; pass float32 or a type of the inputs");
    }
    t.out = normal_rows(view, p);
  }
  if (const MutableTensorView& view = t.outputs.lse; view.defined()) {
    if (Status s = check_shape("outputs.lse", view, shape_of_lse(p), p); !s.ok()) return s;
    if (view.dtype != DType::kFloat32 && !(view.dtype == DType::kFloat64 && p.is_float64())) {
      return invalid_argument("outputs.lse: type " + std::string(name_of(view.dtype)) +
                              " can't hold it; pass float32" +
                              (p.is_float64() ? " or float64" : ""));
    }
    t.lse = to_rank4(with_unit_axis(view));
  }
  return {};
}

Status validate_memory(const TangentProblem& t) {
  const GradientInputs& in = t.gradient.inputs;
  const GradientOutputs& o = t.gradient.outputs;
  const AttentionOptions& options = t.gradient.forward.options;
  const Tangents& tangents = t.inputs;
  const NamedView inputs[] = {{"query", in.query},
                              {"key", in.key},
                              {"value", in.value},
                              {"d_out", in.d_out},
                              {"d_lse", in.d_lse},
                              {"out", in.out},
                              {"row_max", in.row_max},
                              {"row_sum", in.row_sum},
                              {"lse", in.lse},
                              {"mask", options.mask},
                              {"bias", options.bias},
                              {"tangents.query", tangents.query},
                              {"tangents.key", tangents.key},
                              {"tangents.value", tangents.value},
                              {"tangents.bias", tangents.bias},
                              {"tangents.sinks", tangents.sinks},
                              {"tangents.d_out", tangents.d_out},
                              {"tangents.d_lse", tangents.d_lse}};
  const NamedView outputs[] = {{"outputs.out", t.outputs.out}, {"outputs.lse", t.outputs.lse},
                               {"d_query", o.d_query},         {"d_key", o.d_key},
                               {"d_value", o.d_value},         {"d_bias", o.d_bias},
                               {"d_sinks", o.d_sinks}};
  return check_memory(inputs, outputs);
}

}  // namespace

Status validate(TangentProblem& t, const AttentionOptions& options) {
  if (Status s = validate(t.gradient, options); !s.ok()) return s;
  if (t.of_gradients() && options.score_mod) {
    return unsupported(
        "score_mod: tangents of gradients need its second derivative, which can't be given; use "
        "bias, softcap or ALiBi, or ask for tangents of attention only");
  }
  if (Status s = check_inputs(t); !s.ok()) return s;
  if (Status s = check_bias_and_sinks(t); !s.ok()) return s;
  if (Status s = check_outputs(t); !s.ok()) return s;
  return validate_memory(t);
}

void clear_dead_rows(const TangentProblem& t) {
  clear_dead_rows(t.gradient);
  const Problem& p = t.gradient.forward;
  if (p.packed()) return;  // every row belongs to a sequence
  for (std::int64_t b = 0; b < p.sequences; ++b) {
    const Sequence s = p.sequence(b);
    clear_rows(t.out, b, s.queries, s.query_rows);
    clear_rows(t.lse, b, s.queries, s.query_rows);
  }
}

}  // namespace qkv
