#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "problem/checks.h"
#include "problem/problem.h"
#include "simd/philox.h"

namespace qkv {
namespace {

using std::to_string;

std::string pair_of_shapes(const char* a, const TensorView& view_a, const char* b,
                           const TensorView& view_b) {
  return std::string(a) + " " + shape_string(view_a) + " and " + b + " " + shape_string(view_b);
}

// Enums come from outside too, by a cast or memory that was not set.
Status check_enums(const Problem& p) {
  const AttentionOptions& o = p.options;
  if (o.alignment != Alignment::kBottomRight && o.alignment != Alignment::kTopLeft) {
    return invalid_argument("alignment: " + to_string(static_cast<int>(o.alignment)) +
                            " is unknown; pass kBottomRight or kTopLeft");
  }
  if (o.arithmetic != Arithmetic::kByType && o.arithmetic != Arithmetic::kFloat32) {
    return invalid_argument("arithmetic: " + to_string(static_cast<int>(o.arithmetic)) +
                            " is unknown; pass kByType or kFloat32");
  }
  return {};
}

Status check_dtypes(const Problem& p) {
  int float64s = 0, bfloat16s = 0;
  const std::pair<const char*, const TensorView*> all[] = {
      {"query", &p.inputs.query}, {"key", &p.inputs.key}, {"value", &p.inputs.value}};
  for (const auto& [name, view] : all) {
    if (!is_floating(view->dtype)) {
      return invalid_argument(std::string(name) + ": type " + std::string(name_of(view->dtype)) +
                              " is not supported here; convert it to float32, float16, bfloat16 or "
                              "float64");
    }
    float64s += view->dtype == DType::kFloat64;
    bfloat16s += view->dtype == DType::kBFloat16;
  }
  if (float64s != 0 && float64s != 3) {
    return invalid_argument("query, key, value: types " +
                            std::string(name_of(p.inputs.query.dtype)) + ", " +
                            std::string(name_of(p.inputs.key.dtype)) + ", " +
                            std::string(name_of(p.inputs.value.dtype)) +
                            " mix float64 with others; make all three float64 or none");
  }
  if (bfloat16s == 3 && p.options.arithmetic == Arithmetic::kByType) {
    return unsupported(
        "query, key, value: all-bfloat16 inputs have an arithmetic of their own that is not built "
        "yet; ask for arithmetic float32, which widens them exactly");
  }
  return {};
}

Status check_inputs(Problem& p) {
  const AttentionInputs& in = p.inputs;
  const std::pair<const char*, const TensorView*> all[] = {
      {"query", &in.query}, {"key", &in.key}, {"value", &in.value}};
  for (const auto& [name, view] : all) {
    if (!view->defined()) return invalid_argument(std::string(name) + ": absent; pass a tensor");
    if (Status s = check_view(name, *view); !s.ok()) return s;
  }
  const bool packed = p.packed() || !p.options.key_cu_seqlens.empty();
  const int least = packed ? 3 : 2, most = packed ? 3 : 4;
  if (in.query.rank != in.key.rank || in.key.rank != in.value.rank || in.query.rank < least ||
      in.query.rank > most) {
    return invalid_argument("query, key, value: shapes " + shape_string(in.query) + ", " +
                            shape_string(in.key) + ", " + shape_string(in.value) +
                            (packed ? " of packed sequences must all be [total, heads, d]"
                                    : " must have one rank, 2 to 4: [batch, heads, length, d]"));
  }
  if (Status s = check_enums(p); !s.ok()) return s;
  if (Status s = check_dtypes(p); !s.ok()) return s;
  // Packed [total, heads, d] becomes [1, heads, total, d].
  p.query = to_rank4(packed ? in.query.transposed(0, 1) : in.query);
  p.key = to_rank4(packed ? in.key.transposed(0, 1) : in.key);
  p.value = to_rank4(packed ? in.value.transposed(0, 1) : in.value);

  const auto differ = [&](int axis, const TensorView& a, const TensorView& b) {
    return a.extents[axis] != b.extents[axis];
  };
  if (differ(0, p.query, p.key)) {
    return invalid_argument(pair_of_shapes("query", in.query, "key", in.key) +
                            " have different batch sizes; make them equal");
  }
  if (differ(0, p.key, p.value) || differ(1, p.key, p.value) || differ(2, p.key, p.value)) {
    return invalid_argument(pair_of_shapes("key", in.key, "value", in.value) +
                            " must agree in batch, heads and length; only the last dimension may "
                            "differ");
  }
  if (differ(3, p.query, p.key)) {
    return invalid_argument(pair_of_shapes("query", in.query, "key", in.key) +
                            " have different sizes d_qk in the last dimension; make them equal");
  }
  const std::int64_t query_heads = p.query_heads(), key_heads = p.key_heads();
  if (key_heads == 0 ? query_heads != 0 : query_heads % key_heads != 0) {
    return invalid_argument(pair_of_shapes("query", in.query, "key", in.key) + ": " +
                            to_string(query_heads) + " query heads are not a multiple of " +
                            to_string(key_heads) +
                            " key heads; each key head serves the same number of query heads");
  }
  return {};
}

// ---- Options ------------------------------------------------------------------------------------

std::string number_text(double number) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%g", number);
  return text.data();
}

Status check_scores(Problem& p) {
  const AttentionOptions& o = p.options;
  p.scale64 = p.d_qk() == 0 ? 1.0 : 1.0 / std::sqrt(static_cast<double>(p.d_qk()));
  if (o.scale) p.scale64 = *o.scale;
  if (!std::isfinite(p.scale64)) {
    return invalid_argument("scale: " + to_string(p.scale64) + " is not finite; pass a number");
  }
  p.scale = static_cast<float>(p.scale64);
  if (!std::isfinite(p.scale) && !p.is_float64()) {
    return invalid_argument("scale: " + number_text(p.scale64) +
                            " overflows float32; pass a number of magnitude below 3.4e38");
  }
  if (o.softcap && !(std::isfinite(*o.softcap) && *o.softcap > 0)) {
    return invalid_argument("softcap: " + number_text(*o.softcap) +
                            " must be finite and above 0; leave it out for none");
  }
  const std::int64_t heads = p.query_heads();
  if (Status s = check_sinks(o.sinks, heads); !s.ok()) return s;
  if (!o.alibi_slopes.empty() && static_cast<std::int64_t>(o.alibi_slopes.size()) != heads) {
    return invalid_argument("alibi_slopes: " + to_string(o.alibi_slopes.size()) + " slopes for " +
                            to_string(heads) + " query heads; pass one a head");
  }
  for (float slope : o.alibi_slopes) {
    if (!std::isfinite(slope)) {
      return invalid_argument("alibi_slopes: " + to_string(slope) + " is not finite; pass numbers");
    }
  }
  if (o.block_predicate && !o.mask_mod) {
    return invalid_argument("block_predicate: it describes mask_mod, which is absent; pass both");
  }
  if (p.is_float64() && o.score_mod) {
    return unsupported("score_mod: it works on float32 scores; convert the inputs to float32");
  }
  return {};
}

Status check_dropout(Problem& p) {
  p.dropout_factor = 1;
  if (!p.has_dropout()) return {};
  const Dropout& dropout = *p.options.dropout;
  if (!(dropout.probability >= 0 && dropout.probability <= 1)) {
    return invalid_argument("dropout.probability: " + number_text(dropout.probability) +
                            " is out of range; pass 0 to 1");
  }
  if (!dropout.streams.empty() &&
      static_cast<std::int64_t>(dropout.streams.size()) != p.sequences) {
    return invalid_argument("dropout.streams: " + to_string(dropout.streams.size()) +
                            " entries for a batch of " + to_string(p.sequences) +
                            "; pass one a sequence");
  }
  p.dropout_threshold = dropout_threshold(dropout.probability);
  p.dropout_factor =
      dropout.probability == 1 ? 0.0f : static_cast<float>(1 / (1 - dropout.probability));
  return {};
}

Status check_packed(Problem& p) {
  const AttentionOptions& o = p.options;
  const std::pair<const char*, const std::vector<std::int64_t>*> both[] = {
      {"query_cu_seqlens", &o.query_cu_seqlens}, {"key_cu_seqlens", &o.key_cu_seqlens}};
  if (o.query_cu_seqlens.empty() != o.key_cu_seqlens.empty()) {
    return invalid_argument("query_cu_seqlens, key_cu_seqlens: one is absent; pass both or none");
  }
  if (!p.packed()) {
    p.sequences = p.query.extents[0];
    return {};
  }
  if (o.query_cu_seqlens.size() != o.key_cu_seqlens.size()) {
    return invalid_argument(
        "query_cu_seqlens, key_cu_seqlens: " + to_string(o.query_cu_seqlens.size()) + " and " +
        to_string(o.key_cu_seqlens.size()) +
        " entries; both need one more than there are sequences");
  }
  for (const auto& [name, ends] : both) {
    const std::int64_t total = ends == &o.query_cu_seqlens ? p.queries() : p.keys();
    if (ends->front() != 0 || ends->back() != total) {
      return invalid_argument(std::string(name) + ": runs from " + to_string(ends->front()) +
                              " to " + to_string(ends->back()) + "; it must run from 0 to " +
                              to_string(total) + ", the rows of its tensor");
    }
    for (std::size_t b = 1; b < ends->size(); ++b) {
      if ((*ends)[b] < (*ends)[b - 1]) {
        return invalid_argument(std::string(name) + ": entry " + to_string(b) + " is " +
                                to_string((*ends)[b]) + ", below the entry before it, " +
                                to_string((*ends)[b - 1]) + "; entries must not fall");
      }
    }
  }
  if (o.mask.defined() || o.bias.defined()) {
    return invalid_argument(
        "mask, bias: tensors have no meaning with packed sequences; use mask_mod or score_mod");
  }
  if (!o.key_lengths.empty() || !o.key_begin.empty() || !o.query_lengths.empty()) {
    return invalid_argument(
        "key_lengths, key_begin, query_lengths: packed sequences have their lengths in cu_seqlens; "
        "leave these out");
  }
  p.sequences = static_cast<std::int64_t>(o.query_cu_seqlens.size()) - 1;
  return {};
}

Status check_lengths(const Problem& p) {
  const AttentionOptions& o = p.options;
  const auto check = [&](const char* name, const std::vector<std::int64_t>& values,
                         const auto& most, const char* what) -> Status {
    if (values.empty()) return {};
    if (static_cast<std::int64_t>(values.size()) != p.sequences) {
      return invalid_argument(std::string(name) + ": " + to_string(values.size()) +
                              " entries for a batch of " + to_string(p.sequences) +
                              "; pass one a sequence");
    }
    for (std::size_t b = 0; b < values.size(); ++b) {
      if (values[b] < 0 || values[b] > most(b)) {
        return invalid_argument(std::string(name) + ": entry " + to_string(b) + " is " +
                                to_string(values[b]) + "; it must lie between 0 and " +
                                to_string(most(b)) + ", " + what);
      }
    }
    return {};
  };
  if (Status s = check(
          "key_begin", o.key_begin, [&](std::size_t) { return p.keys(); }, "the length of key");
      !s.ok()) {
    return s;
  }
  if (Status s = check(
          "key_lengths", o.key_lengths,
          [&](std::size_t b) { return p.keys() - (o.key_begin.empty() ? 0 : o.key_begin[b]); },
          "the length of key less key_begin");
      !s.ok()) {
    return s;
  }
  return check(
      "query_lengths", o.query_lengths, [&](std::size_t) { return p.queries(); },
      "the length of query");
}

Status check_positions(const Problem& p) {
  const AttentionOptions& o = p.options;
  const auto count = static_cast<std::int64_t>(o.query_offset.size());
  if (count > 1 && count != p.sequences) {
    return invalid_argument("query_offset: " + to_string(count) + " entries for a batch of " +
                            to_string(p.sequences) + "; pass one for all or one a sequence");
  }
  for (std::int64_t offset : o.query_offset) {
    if (offset < -kMaxPosition || offset > kMaxPosition) {
      return invalid_argument("query_offset: " + to_string(offset) +
                              " is out of range; offsets lie between -2^61 and 2^61");
    }
  }
  for (const auto& [name, end] :
       {std::pair("window.left", o.window.left), std::pair("window.right", o.window.right)}) {
    if (end && (*end < 0 || *end > kMaxPosition)) {
      return invalid_argument(std::string(name) + ": " + to_string(*end) +
                              " is out of range; pass 0 to 2^61, or leave it out for no bound");
    }
  }
  const bool positions_matter = o.dropout || o.causal || o.window.left || o.window.right ||
                                o.score_mod || o.mask_mod || !o.alibi_slopes.empty();
  if (p.first_key != 0 && positions_matter && o.query_offset.empty()) {
    return invalid_argument(
        "query_offset: absent for a piece of the keys; positions need it, since the piece does not "
        "tell how many keys there are in all");
  }
  return {};
}

Status check_masks(Problem& p) {
  const AttentionOptions& o = p.options;
  TensorView bias = o.bias;
  const char* bias_name = "bias";
  p.mask = TensorView();
  p.bias = TensorView();
  if (o.mask.defined()) {
    if (o.mask.dtype == DType::kBool) {
      if (Status s = broadcast_to_scores("mask", o.mask, p, p.mask); !s.ok()) return s;
    } else if (is_floating(o.mask.dtype)) {
      if (o.bias.defined()) {
        return invalid_argument("mask, bias: a " + std::string(name_of(o.mask.dtype)) +
                                " mask is itself a bias; pass a bool mask, or one of the two");
      }
      bias = o.mask;
      bias_name = "mask";
    } else {
      return invalid_argument("mask: type " + std::string(name_of(o.mask.dtype)) +
                              " is ambiguous; pass bool (true = may attend) or a float bias");
    }
  }
  if (!bias.defined()) return {};
  if (!is_floating(bias.dtype) || (bias.dtype == DType::kFloat64 && !p.is_float64())) {
    return invalid_argument(
        std::string(bias_name) + ": type " + std::string(name_of(bias.dtype)) +
        " can't be added to the scores of " + std::string(name_of(p.query.dtype)) +
        " inputs; pass float32, float16 or bfloat16" + (p.is_float64() ? ", or float64" : ""));
  }
  return broadcast_to_scores(bias_name, bias, p, p.bias);
}

}  // namespace

Status validate(Problem& p) {
  if (Status s = check_inputs(p); !s.ok()) return s;
  if (Status s = check_scores(p); !s.ok()) return s;
  if (Status s = check_packed(p); !s.ok()) return s;
  if (Status s = check_dropout(p); !s.ok()) return s;
  if (Status s = check_lengths(p); !s.ok()) return s;
  if (Status s = check_positions(p); !s.ok()) return s;
  if (Status s = check_masks(p); !s.ok()) return s;
  if (Status s = check_outputs(p); !s.ok()) return s;
  return validate_memory(p);
}

Status infer_output_shape(const AttentionInputs& inputs, const AttentionOptions& options,
                          std::vector<std::int64_t>& shape) {
  Problem p;
  p.inputs = inputs;
  p.options = options;
  if (Status s = check_inputs(p); !s.ok()) return s;
  shape.assign(inputs.query.extents.begin(), inputs.query.extents.begin() + inputs.query.rank);
  shape.back() = p.d_v();
  return {};
}

}  // namespace qkv
