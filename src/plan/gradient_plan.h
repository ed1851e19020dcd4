// How a backward pass is done: what is known of each row, then the columns (column_sums.h), then
// the gradients that are sums over heads or rows beside them.
#ifndef QKV_PLAN_GRADIENT_PLAN_H_
#define QKV_PLAN_GRADIENT_PLAN_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/registry.h"
#include "parallel/parallel.h"
#include "plan/bias_sums.h"
#include "plan/column_sums.h"
#include "plan/columns.h"
#include "plan/forward_results.h"
#include "plan/progress.h"
#include "problem/gradient_problem.h"

namespace qkv {

class BackwardPlan {
 public:
  // Validates the problem, then plans it.
  static Status make(const GradientInputs& inputs, const GradientOutputs& outputs,
                     const AttentionOptions& options, const ExecutionOptions& execution,
                     std::unique_ptr<BackwardPlan>& plan);

  const PlanDescription& description() const { return description_; }

  // As Plan::run().
  Status run(std::span<std::byte> workspace, const std::atomic<bool>* stop = nullptr);

 private:
  BackwardPlan(GradientProblem problem, const ExecutionOptions& execution,
               const KernelSet& kernels);
  void plan_float32();
  void plan_float64();
  Status prepare_workspace(std::span<std::byte> workspace);

  void run_float32();
  void run_float64();
  void prepare_rows(std::int64_t task, int slot);
  void run_column(std::int64_t column, int slot);
  // gradient_sums.cc
  void run_bias(std::int64_t task, int slot);
  void run_sinks();

  GradientTile with_numbers(const KeyHead& at, const RowTile& rows) const;

  std::byte* slot_scratch(int slot) const { return slot_memory_ + slot * slot_bytes_; }

  GradientProblem problem_;
  ExecutionOptions execution_;
  const KernelSet& kernels_;
  const GradientKernel& kernel_;
  PlanDescription description_;

  ForwardResults forward_;
  Columns columns_;
  std::int64_t tasks_ = 0;
  ColumnSums sums_;
  std::size_t kernel_scratch_bytes_ = 0, slot_bytes_ = 0;
  int slots_ = 1;
  std::unique_ptr<parallel::Executor> executor_;

  std::unique_ptr<std::byte[]> owned_memory_;
  float *m_ = nullptr, *l_ = nullptr, *d_ = nullptr;  // [rows] each
  float* shared_ = nullptr;                           // of sums_
  std::byte* slot_memory_ = nullptr;
  Control control_;
  std::atomic<bool> predicate_failed_{false};
  Progress progress_;
};

}  // namespace qkv

#endif  // QKV_PLAN_GRADIENT_PLAN_H_
