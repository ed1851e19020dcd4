#include <array>
#include <cstdint>
#include <string>
#include <tuple>

#include "problem/checks.h"
#include "problem/overlap.h"
#include "problem/problem.h"

namespace qkv {
namespace {

using std::to_string;

// Outputs of one number a row.
std::array<std::pair<const char*, MutableTensorView>, 3> row_numbers(const AttentionOutputs& o) {
  return {{{"lse", o.lse}, {"row_max", o.row_max}, {"row_sum", o.row_sum}}};
}

Status check_output_types(const Problem& p) {
  const AttentionInputs& in = p.inputs;
  const AttentionOutputs& o = p.outputs;
  for (const auto& [name, view] : {std::pair("out", &o.out), std::pair("weights", &o.weights)}) {
    const bool fits = view->dtype == in.query.dtype || view->dtype == in.key.dtype ||
                      view->dtype == in.value.dtype || view->dtype == DType::kFloat32;
    if (view->defined() && !fits) {
      return invalid_argument(std::string(name) + ": type " + std::string(name_of(view->dtype)) +
                              " does not fit " + std::string(name_of(in.query.dtype)) +
                              " inputs; pass float32 or a type of the inputs");
    }
  }
  for (const auto& [name, view] : row_numbers(o)) {
    const bool fits =
        view.dtype == DType::kFloat32 || (view.dtype == DType::kFloat64 && p.is_float64());
    if (view.defined() && !fits) {
      return invalid_argument(std::string(name) + ": type " + std::string(name_of(view.dtype)) +
                              " can't hold it; pass float32" +
                              (p.is_float64() ? " or float64" : ""));
    }
  }
  return {};
}

Status check_selection(const Problem& p) {
  const auto check = [](const char* name, const std::vector<std::int64_t>& chosen,
                        std::int64_t count) -> Status {
    for (std::int64_t index : chosen) {
      if (index < 0 || index >= count) {
        return invalid_argument(std::string(name) + ": " + to_string(index) + " is not among the " +
                                to_string(count) + " there are; count from 0");
      }
    }
    return {};
  };
  const WeightsSelection& chosen = p.outputs.selection;
  if (Status s = check("selection.heads", chosen.heads, p.query_heads()); !s.ok()) return s;
  return check("selection.rows", chosen.rows, p.queries());
}

bool same_layout(const TensorView& a, const TensorView& b) {
  if (a.rank != b.rank) return false;
  if (!a.defined()) return true;
  if (a.dtype != b.dtype) return false;
  for (int axis = 0; axis < a.rank; ++axis) {
    if (a.extents[axis] != b.extents[axis] || a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

}  // namespace

Status check_shape(const char* name, const TensorView& view, std::span<const std::int64_t> shape,
                   const Problem& p) {
  if (Status s = check_view(name, view); !s.ok()) return s;
  const TensorView wanted(nullptr, DType::kFloat32, shape);
  bool same = view.rank == wanted.rank;
  for (int axis = 0; same && axis < view.rank; ++axis) {
    same = view.extents[axis] == wanted.extents[axis];
  }
  if (!same) {
    return invalid_argument(std::string(name) + ": shape " + shape_string(view) +
                            " does not fit query " + shape_string(p.inputs.query) + " and value " +
                            shape_string(p.inputs.value) + "; it must be " + shape_string(wanted));
  }
  return {};
}

Status check_outputs(Problem& p) {
  const AttentionOutputs& o = p.outputs;
  const TensorView& query = p.inputs.query;
  const bool packed = p.packed();
  if (Status s = check_output_types(p); !s.ok()) return s;
  p.out = MutableTensorView();
  p.weights = MutableTensorView();
  if (o.out.defined()) {
    std::vector<std::int64_t> shape(query.extents.begin(), query.extents.begin() + query.rank);
    shape.back() = p.d_v();
    if (Status s = check_shape("out", o.out, shape, p); !s.ok()) return s;
    p.out = to_rank4(packed ? o.out.transposed(0, 1) : o.out);
  }
  const std::int64_t all[] = {p.query.extents[0], p.query_heads(), p.queries()};
  MutableTensorView* const row_views[] = {&p.lse, &p.row_max, &p.row_sum};
  for (std::size_t n = 0; n < std::size(row_views); ++n) {
    *row_views[n] = MutableTensorView();
    const auto [name, view] = row_numbers(o)[n];
    if (!view.defined()) continue;
    const std::span<const std::int64_t> shape =
        std::span(all).last(static_cast<std::size_t>(packed ? 2 : query.rank - 1));
    if (Status s = check_shape(name, view, shape, p); !s.ok()) return s;
    *row_views[n] = to_rank4(with_unit_axis(view));
  }
  if (o.weights.defined()) {
    if (Status s = check_selection(p); !s.ok()) return s;
    const WeightsSelection& chosen = o.selection;
    const std::int64_t sizes[] = {
        all[0], chosen.heads.empty() ? all[1] : static_cast<std::int64_t>(chosen.heads.size()),
        chosen.rows.empty() ? all[2] : static_cast<std::int64_t>(chosen.rows.size()), p.keys()};
    const std::span<const std::int64_t> shape =
        std::span(sizes).last(static_cast<std::size_t>(query.rank));
    if (Status s = check_shape("weights", o.weights, shape, p); !s.ok()) return s;
    p.weights = to_rank4(o.weights);
  }
  return {};
}

Status check_pointer(const char* name, const TensorView& view) {
  if (!view.defined() || view.size() == 0) return {};
  if (view.data == nullptr) {
    return invalid_argument(std::string(name) + ": null pointer for " + describe(view) +
                            "; pass the address of its first element");
  }
  const std::size_t size = size_of(view.dtype);
  if (reinterpret_cast<std::uintptr_t>(view.data) % size != 0) {
    return invalid_argument(std::string(name) + ": the address of " + describe(view) +
                            " is not a multiple of its element's " + std::to_string(size) +
                            " bytes; copy it to aligned memory");
  }
  return {};
}

Status validate_memory(const Problem& p) {
  // As the caller gave them: messages have the caller's names and shapes.
  const NamedView inputs[] = {{"query", p.inputs.query},
                              {"key", p.inputs.key},
                              {"value", p.inputs.value},
                              {"mask", p.options.mask},
                              {"bias", p.options.bias}};
  const NamedView outputs[] = {{"out", p.outputs.out},
                               {"lse", p.outputs.lse},
                               {"row_max", p.outputs.row_max},
                               {"row_sum", p.outputs.row_sum},
                               {"weights", p.outputs.weights}};
  return check_memory(inputs, outputs);
}

Status check_memory(std::span<const NamedView> inputs, std::span<const NamedView> outputs) {
  for (const auto& [name, view] : inputs) {
    if (Status s = check_pointer(name, view); !s.ok()) return s;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [name, view] = outputs[i];
    if (!view.defined()) continue;
    if (Status s = check_pointer(name, view); !s.ok()) return s;
    if (overlaps_itself(view)) {
      return invalid_argument(std::string(name) + ": elements of shape " + shape_string(view) +
                              " share memory by their strides; pass an output without overlap");
    }
    for (const auto& [input_name, input] : inputs) {
      if (overlap(view, input)) {
        return invalid_argument(std::string(name) + " " + shape_string(view) + " and " +
                                input_name + " " + shape_string(input) +
                                " share memory; pass an output of its own");
      }
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (overlap(view, outputs[k].view)) {
        return invalid_argument(std::string(outputs[k].name) + " and " + name +
                                " share memory; pass outputs of their own");
      }
    }
  }
  return {};
}

Memory memory_of(const Problem& p) {
  return {p.inputs.query.data,    p.inputs.key.data,     p.inputs.value.data,
          p.outputs.out.data,     p.outputs.lse.data,    p.outputs.row_max.data,
          p.outputs.row_sum.data, p.outputs.weights.data};
}

void set_memory(Problem& p, const Memory& memory) {
  // The normal form has the first element where the caller's view has it.
  p.inputs.query.data = p.query.data = memory.query;
  p.inputs.key.data = p.key.data = memory.key;
  p.inputs.value.data = p.value.data = memory.value;
  p.outputs.out.data = p.out.data = memory.out;
  p.outputs.lse.data = p.lse.data = memory.lse;
  p.outputs.row_max.data = p.row_max.data = memory.row_max;
  p.outputs.row_sum.data = p.row_sum.data = memory.row_sum;
  p.outputs.weights.data = p.weights.data = memory.weights;
}

Status rebind(Problem& p, const AttentionInputs& inputs, const AttentionOutputs& outputs) {
  const std::tuple<const char*, TensorView, TensorView> all[] = {
      {"query", p.inputs.query, inputs.query},
      {"key", p.inputs.key, inputs.key},
      {"value", p.inputs.value, inputs.value},
      {"out", p.outputs.out, outputs.out},
      {"lse", p.outputs.lse, outputs.lse},
      {"row_max", p.outputs.row_max, outputs.row_max},
      {"row_sum", p.outputs.row_sum, outputs.row_sum},
      {"weights", p.outputs.weights, outputs.weights}};
  for (const auto& [name, planned, given] : all) {
    if (!same_layout(planned, given)) {
      return invalid_argument(std::string(name) + ": " + describe(given) +
                              " differs in type, shape or strides from the planned " +
                              describe(planned) + "; plan anew");
    }
  }
  const WeightsSelection &planned = p.outputs.selection, &given = outputs.selection;
  if (planned.heads != given.heads || planned.rows != given.rows) {
    return invalid_argument("selection: other heads or rows than were planned; plan anew");
  }
  const Memory before = memory_of(p);
  set_memory(
      p, {inputs.query.data, inputs.key.data, inputs.value.data, outputs.out.data, outputs.lse.data,
          outputs.row_max.data, outputs.row_sum.data, outputs.weights.data});
  Status status = validate_memory(p);
  if (!status.ok()) set_memory(p, before);
  return status;
}

}  // namespace qkv
