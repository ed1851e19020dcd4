// What a call for gradients or tangents doesn't bring of the forward pass, computed before each
// run.
#ifndef QKV_PLAN_FORWARD_RESULTS_H_
#define QKV_PLAN_FORWARD_RESULTS_H_

#include <atomic>
#include <memory>

#include "plan/plan.h"
#include "problem/gradient_problem.h"

namespace qkv {

class ForwardResults {
 public:
  // Gives the validated problem out, row_max and row_sum, if it has none.
  Status plan(GradientProblem& problem, const ExecutionOptions& execution);
  Status run(const std::atomic<bool>* stop) { return plan_ ? plan_->run({}, stop) : Status(); }

 private:
  std::unique_ptr<Plan> plan_;
  Tensor out_, row_max_, row_sum_;
};

}  // namespace qkv

#endif  // QKV_PLAN_FORWARD_RESULTS_H_
