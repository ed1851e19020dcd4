#include "problem/gradient_problem.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "problem/checks.h"
#include "problem/overlap.h"
#include "tensor/element.h"

namespace qkv {
namespace {

constexpr float kZero = 0.0f;
constexpr double kZero64 = 0.0;

// A zero for every element.
TensorView zeros(const Extents& extents, bool is_float64) {
  TensorView view;
  view.data = is_float64 ? static_cast<const void*>(&kZero64) : &kZero;
  view.dtype = is_float64 ? DType::kFloat64 : DType::kFloat32;
  view.rank = kMaxRank;
  view.extents = extents;
  return view;
}

Status wrong_type(const char* name, const TensorView& view, const std::string& wanted) {
  return invalid_argument(std::string(name) + ": type " + std::string(name_of(view.dtype)) +
                          " does not fit; pass " + wanted);
}

Status check_incoming(GradientProblem& g) {
  const Problem& p = g.forward;
  const Extents rows = {p.query.extents[0], p.query_heads(), p.queries(), 1};
  g.d_out = zeros({rows[0], rows[1], rows[2], p.d_v()}, p.is_float64());
  g.d_lse = zeros(rows, p.is_float64());
  if (const TensorView& view = g.inputs.d_out; view.defined()) {
    if (Status s = check_shape("d_out", view, shape_of_out(p), p); !s.ok()) return s;
    if (!is_floating(view.dtype) || (view.dtype == DType::kFloat64) != p.is_float64()) {
      return wrong_type("d_out", view, p.is_float64() ? "float64" : "float32, float16 or bfloat16");
    }
    g.d_out = normal_rows(view, p);
  }
  if (const TensorView& view = g.inputs.d_lse; view.defined()) {
    if (Status s = check_shape("d_lse", view, shape_of_lse(p), p); !s.ok()) return s;
    const bool fits =
        view.dtype == DType::kFloat32 || (view.dtype == DType::kFloat64 && p.is_float64());
    if (!fits) return wrong_type("d_lse", view, p.is_float64() ? "float32 or float64" : "float32");
    g.d_lse = to_rank4(with_unit_axis(view));
  }
  return {};
}

Status check_forward_results(GradientProblem& g) {
  const Problem& p = g.forward;
  const GradientInputs& in = g.inputs;
  g.out = g.row_max = g.row_sum = TensorView();
  const bool numbers = in.row_max.defined() || in.row_sum.defined();
  if (!in.out.defined() && !numbers && !in.lse.defined()) return {};
  if (numbers && in.lse.defined()) {
    return invalid_argument("lse: it takes the place of row_max and row_sum; leave out either");
  }
  if (!in.out.defined() || (!in.lse.defined() && !(in.row_max.defined() && in.row_sum.defined()))) {
    return invalid_argument(
        "out, row_max, row_sum: one is absent; pass all that the forward call gave (or out and "
        "lse), or none of them");
  }
  const std::pair<const char*, const TensorView*> all[] = {
      {"out", &in.out}, {"row_max", &in.row_max}, {"row_sum", &in.row_sum}, {"lse", &in.lse}};
  for (const auto& [name, view] : all) {
    if (!view->defined()) continue;
    const std::vector<std::int64_t> shape = view == &in.out ? shape_of_out(p) : shape_of_lse(p);
    if (Status s = check_shape(name, *view, shape, p); !s.ok()) return s;
    const bool fits =
        view->dtype == DType::kFloat32 || (view->dtype == DType::kFloat64 && p.is_float64());
    if (!fits) {
      return wrong_type(name, *view,
                        "float32: gradients start from the result before it is rounded further");
    }
  }
  g.out = normal_rows(in.out, p);
  g.row_max = to_rank4(with_unit_axis(in.lse.defined() ? in.lse : in.row_max));
  if (in.row_sum.defined()) g.row_sum = to_rank4(with_unit_axis(in.row_sum));
  return {};
}

Status check_results(GradientProblem& g) {
  const Problem& p = g.forward;
  const GradientOutputs& o = g.outputs;
  const std::tuple<const char*, const MutableTensorView*, const TensorView*, MutableTensorView*>
      all[] = {{"d_query", &o.d_query, &p.inputs.query, &g.d_query},
               {"d_key", &o.d_key, &p.inputs.key, &g.d_key},
               {"d_value", &o.d_value, &p.inputs.value, &g.d_value}};
  for (const auto& [name, view, like, result] : all) {
    *result = MutableTensorView();
    if (!view->defined()) continue;
    const std::span<const std::int64_t> shape(like->extents.data(),
                                              static_cast<std::size_t>(like->rank));
    if (Status s = check_shape(name, *view, shape, p); !s.ok()) return s;
    const AttentionInputs& in = p.inputs;
    if (view->dtype != DType::kFloat32 && view->dtype != in.query.dtype &&
        view->dtype != in.key.dtype && view->dtype != in.value.dtype) {
      return wrong_type(name, *view, "float32 or a type of the inputs");
    }
    *result = normal_rows(*view, p);
  }
  return {};
}

Status check_bias_and_sinks(GradientProblem& g) {
  const Problem& p = g.forward;
  const GradientOutputs& o = g.outputs;
  g.d_bias = g.d_sinks = MutableTensorView();
  // They are added up in place, so they have the type of the sums.
  const DType sums = p.is_float64() ? DType::kFloat64 : DType::kFloat32;
  if (o.d_bias.defined()) {
    const TensorView& bias = p.options.bias.defined() ? p.options.bias : p.options.mask;
    if (!p.bias.defined()) {
      return invalid_argument("d_bias: there is no bias; leave it out");
    }
    if (Status s = check_view("d_bias", o.d_bias); !s.ok()) return s;
    if (shape_string(o.d_bias) != shape_string(bias)) {
      return invalid_argument("d_bias " + shape_string(o.d_bias) + " and bias " +
                              shape_string(bias) + " differ in shape; make them equal");
    }
    if (o.d_bias.dtype != sums) return wrong_type("d_bias", o.d_bias, std::string(name_of(sums)));
    TensorView spread;
    if (Status s = broadcast_to_scores("d_bias", o.d_bias, p, spread); !s.ok()) return s;
    g.d_bias = o.d_bias;
    g.d_bias.rank = spread.rank;
    g.d_bias.extents = spread.extents;
    g.d_bias.strides = spread.strides;
  }
  if (o.d_sinks.defined()) {
    if (p.options.sinks.empty()) {
      return invalid_argument("d_sinks: there are no sinks; leave it out");
    }
    if (Status s = check_view("d_sinks", o.d_sinks); !s.ok()) return s;
    if (o.d_sinks.rank != 1 || o.d_sinks.extents[0] != p.query_heads()) {
      return invalid_argument("d_sinks: shape " + shape_string(o.d_sinks) + " for " +
                              std::to_string(p.query_heads()) + " query heads; pass one a head");
    }
    if (o.d_sinks.dtype != sums) {
      return wrong_type("d_sinks", o.d_sinks, std::string(name_of(sums)));
    }
    g.d_sinks = o.d_sinks;
  }
  return {};
}

}  // namespace

std::vector<std::int64_t> shape_of_out(const Problem& p) {
  const TensorView& query = p.inputs.query;
  std::vector<std::int64_t> shape(query.extents.begin(), query.extents.begin() + query.rank);
  shape.back() = p.d_v();
  return shape;
}

std::vector<std::int64_t> shape_of_lse(const Problem& p) {
  if (p.packed()) return {p.query_heads(), p.queries()};
  const TensorView& query = p.inputs.query;
  return {query.extents.begin(), query.extents.begin() + query.rank - 1};
}

void clear_rows(const MutableTensorView& view, std::int64_t b, std::int64_t begin,
                std::int64_t end) {
  if (!view.defined()) return;
  for (std::int64_t h = 0; h < view.extents[1]; ++h) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t c = 0; c < view.extents[3]; ++c) {
        store_result(view, offset_of(view, b, h, row, c), 0.0f);
      }
    }
  }
}

Status validate(GradientProblem& g, const AttentionOptions& options) {
  g.forward = Problem();
  g.forward.inputs = {g.inputs.query, g.inputs.key, g.inputs.value};
  g.forward.options = options;
  if (Status s = validate(g.forward); !s.ok()) return s;
  if (options.score_mod && !options.score_mod_gradient) {
    return invalid_argument(
        "score_mod_gradient: absent although there is a score_mod; pass its derivative");
  }
  if (options.score_mod_gradient && !options.score_mod) {
    return invalid_argument("score_mod_gradient: there is no score_mod; pass both or none");
  }
  if (Status s = check_incoming(g); !s.ok()) return s;
  if (Status s = check_forward_results(g); !s.ok()) return s;
  if (Status s = check_results(g); !s.ok()) return s;
  if (Status s = check_bias_and_sinks(g); !s.ok()) return s;
  return validate_memory(g);
}

Status validate_memory(const GradientProblem& g) {
  const GradientInputs& in = g.inputs;
  const GradientOutputs& o = g.outputs;
  const AttentionOptions& options = g.forward.options;
  const NamedView inputs[] = {{"query", in.query},     {"key", in.key},         {"value", in.value},
                              {"d_out", in.d_out},     {"d_lse", in.d_lse},     {"out", in.out},
                              {"row_max", in.row_max}, {"row_sum", in.row_sum}, {"lse", in.lse},
                              {"mask", options.mask},  {"bias", options.bias}};
  const NamedView outputs[] = {{"d_query", o.d_query},
                               {"d_key", o.d_key},
                               {"d_value", o.d_value},
                               {"d_bias", o.d_bias},
                               {"d_sinks", o.d_sinks}};
  return check_memory(inputs, outputs);
}

void clear_sums(const GradientProblem& g) {
  // The caller's shape, without the broadcast dimensions.
  if (g.d_bias.defined()) {
    const MutableTensorView view = to_rank4(g.outputs.d_bias);
    for (std::int64_t b = 0; b < view.extents[0]; ++b) clear_rows(view, b, 0, view.extents[2]);
  }
  for (std::int64_t h = 0; g.d_sinks.defined() && h < g.d_sinks.extents[0]; ++h) {
    store_result(g.d_sinks, h * g.d_sinks.strides[0], 0.0f);
  }
}

void clear_dead_rows(const GradientProblem& g) {
  const Problem& p = g.forward;
  if (p.packed()) return;  // every row belongs to a sequence
  for (std::int64_t b = 0; b < p.sequences; ++b) {
    const Sequence s = p.sequence(b);
    clear_rows(g.d_query, b, s.queries, s.query_rows);
    for (const MutableTensorView* view : {&g.d_key, &g.d_value}) {
      clear_rows(*view, b, 0, s.key_begin);
      clear_rows(*view, b, s.key_begin + s.end_key, p.keys());
    }
  }
}

}  // namespace qkv
