// The gradients that are summed over several heads or rows outside the tree of a head: those of a
// broadcast bias, and of sinks.
#include <algorithm>
#include <limits>

#include "kernels/attention/scratch.h"
#include "kernels/exact/functions.h"
#include "plan/gradient_plan.h"
#include "tensor/element.h"

namespace qkv {

void BackwardPlan::run_bias(std::int64_t task, int slot) {
  std::byte* const scratch = slot_scratch(slot);
  float* const gradients = Scratch(scratch + kernel_scratch_bytes_).floats(kSpan * kGradientRows);
  const BiasSums bias(problem_, columns_);
  bias.run(task, [&](const KeyHead& at, const RowTile& rows, KeyRange columns) {
    for (std::int64_t column = columns.begin; column < columns.end; ++column) {
      if (control_.cancelled()) return;
      if (!columns_.touches(at, rows.queries[0] / kGradientRows, column)) continue;
      const KeyRange keys = columns_.keys_of(at, column);
      SpanSums sums{};
      sums.gradients = gradients;
      kernel_.add_span(problem_, with_numbers(at, rows), keys, sums, scratch, control_);
      bias.add(at, rows, keys, gradients);
    }
  });
}

void BackwardPlan::run_sinks() {
  const Problem& p = problem_.forward;
  for (std::int64_t h = 0; h < p.query_heads(); ++h) {
    const float sink = p.options.sinks[h];
    float total = 0.0f;
    for (std::int64_t b = 0; b < p.sequences; ++b) {
      if (sink == -std::numeric_limits<float>::infinity()) break;
      const KeyHead& at = columns_.key_head(b, p.key_head(h));
      const std::int64_t first = at.first_row + h % p.group() * at.sequence.queries;
      total = total + sum_over_rows(at.sequence.queries, [&](std::int64_t i) {
                const std::int64_t row = at.sequence.query_begin + i;
                const float d_lse = load_float(
                    problem_.d_lse, offset_of(problem_.d_lse, at.sequence.buffer, h, row, 0));
                const float weight = exact::exp(sink - m_[first + i]) / l_[first + i];
                return weight * ((0.0f - d_[first + i]) + d_lse);
              });
    }
    store_result(problem_.d_sinks, h * problem_.d_sinks.strides[0], total);
  }
}

}  // namespace qkv
