#include "plan/forward_results.h"

#include <vector>

namespace qkv {

Status ForwardResults::plan(GradientProblem& problem, const ExecutionOptions& execution) {
  if (problem.has_forward_results()) return {};
  const Problem& p = problem.forward;
  const std::vector<std::int64_t> numbers = shape_of_lse(p);
  if (Status s = allocate(DType::kFloat32, shape_of_out(p), out_); !s.ok()) return s;
  if (Status s = allocate(DType::kFloat32, numbers, row_max_); !s.ok()) return s;
  if (Status s = allocate(DType::kFloat32, numbers, row_sum_); !s.ok()) return s;
  AttentionOutputs outputs;
  outputs.out = out_;
  outputs.row_max = row_max_;
  outputs.row_sum = row_sum_;
  ExecutionOptions silent = execution;
  silent.progress = nullptr;
  if (Status s = Plan::make(p.inputs, outputs, p.options, silent, plan_); !s.ok()) return s;
  problem.inputs.out = out_;
  problem.inputs.row_max = row_max_;
  problem.inputs.row_sum = row_sum_;
  const AttentionOptions options = p.options;
  return validate(problem, options);
}

}  // namespace qkv
