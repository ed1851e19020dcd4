#include "problem/checks.h"

#include <cmath>
#include <limits>
#include <string>

namespace qkv {

using std::to_string;

Status check_sinks(std::span<const float> sinks, std::int64_t heads) {
  if (!sinks.empty() && static_cast<std::int64_t>(sinks.size()) != heads) {
    return invalid_argument("sinks: " + to_string(sinks.size()) + " logits for " +
                            to_string(heads) + " query heads; pass one a head");
  }
  for (float sink : sinks) {
    if (!(sink < std::numeric_limits<float>::infinity())) {
      return invalid_argument("sinks: " + to_string(sink) +
                              " is not allowed; pass finite logits, or -inf for none");
    }
  }
  return {};
}

Status check_view(const char* name, const TensorView& view) {
  if (view.dtype > DType::kInt64) {
    return invalid_argument(std::string(name) + ": type " +
                            to_string(static_cast<int>(view.dtype)) +
                            " is unknown; pass a value of DType");
  }
  if (view.rank > kMaxRank) {
    return invalid_argument(std::string(name) + ": rank " + to_string(view.rank) +
                            " is too large; pass 4 dimensions at most");
  }
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 58;
  std::int64_t elements = 1, reach = 0;
  for (int axis = 0; axis < view.rank; ++axis) {
    const std::int64_t extent = view.extents[axis], stride = view.strides[axis];
    if (extent < 0) {
      return invalid_argument(std::string(name) + ": shape " + shape_string(view) +
                              " has a negative extent; extents are 0 or more");
    }
    std::int64_t axis_reach = 0;
    if ((extent != 0 && elements > kMaxElements / extent) ||
        (extent > 1 && (__builtin_mul_overflow(stride, extent - 1, &axis_reach) ||
                        axis_reach == std::numeric_limits<std::int64_t>::min() ||
                        std::abs(axis_reach) > kMaxElements - reach))) {
      return invalid_argument(std::string(name) + ": shape " + shape_string(view) +
                              " with its strides spans more than 2^58 elements; pass a smaller "
                              "tensor");
    }
    elements *= extent;
    reach += std::abs(axis_reach);
  }
  return {};
}

Status broadcast_to_scores(const char* name, const TensorView& view, const Problem& p,
                           TensorView& result) {
  const Extents to = {p.query.extents[0], p.query_heads(), p.queries(), p.keys()};
  if (Status s = check_view(name, view); !s.ok()) return s;
  result = to_rank4(view);
  for (int axis = 0; axis < kMaxRank; ++axis) {
    if (result.extents[axis] == to[axis]) continue;
    if (result.extents[axis] != 1) {
      TensorView target;
      target.rank = kMaxRank;
      target.extents = to;
      return invalid_argument(
          std::string(name) + ": shape " + shape_string(view) +
          " does not broadcast to [batch, query heads, queries, keys] = " + shape_string(target) +
          "; dimensions are matched from the right and must be equal or 1");
    }
    result.extents[axis] = to[axis];
    result.strides[axis] = 0;
  }
  return {};
}

}  // namespace qkv
