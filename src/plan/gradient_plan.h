// How a backward pass is done. A task is a column: one span of keys of one key head, through all
// query rows that see it, from the first to the last. It keeps d_key and d_value of its keys; what
// it gives to d_query of a tile of rows joins that of the columns before it, in the contract's
// order, so a column waits at a tile until the column before has passed it. Tasks start in order,
// so that whoever is waited for is at work, and the columns of a head run side by side, some tiles
// apart.
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
#include "plan/columns.h"
#include "plan/forward_results.h"
#include "plan/progress.h"
#include "plan/sum_fold.h"
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

  template <class F>
  void run_tasks(std::int64_t count, F task);
  void run_float32();
  void run_float64();
  void prepare_rows(std::int64_t task, int slot);
  void run_column(std::int64_t column, int slot);
  // gradient_sums.cc
  void run_bias(std::int64_t task, int slot);
  void run_sinks();

  bool touches_any(const KeyHead& at, std::int64_t tile) const;
  GradientTile with_numbers(const KeyHead& at, const RowTile& rows) const;
  void wait_until(const std::atomic<std::int64_t>& passed, std::int64_t steps) const;
  void join_d_query(const KeyHead& at, const RowTile& rows, std::int64_t column, bool touched,
                    SumFold& sums, float* partial, std::byte* scratch, std::int64_t step);
  void write_d_query(const KeyHead& at, const RowTile& rows, const float* sums, std::byte* scratch);

  std::byte* slot_scratch(int slot) const { return slot_memory_ + slot * slot_bytes_; }

  GradientProblem problem_;
  ExecutionOptions execution_;
  const KernelSet& kernels_;
  const GradientKernel& kernel_;
  PlanDescription description_;

  ForwardResults forward_;
  Columns columns_;
  std::int64_t tasks_ = 0;
  std::int64_t fold_tiles_ = 0;     // tiles that fold, of one key head at most
  std::int64_t heads_at_once_ = 1;  // key heads whose folds of d_query there is memory for
  std::size_t kernel_scratch_bytes_ = 0, slot_bytes_ = 0;
  int slots_ = 1;
  std::unique_ptr<parallel::Executor> executor_;
  std::unique_ptr<std::atomic<std::int64_t>[]> passed_;  // [columns] steps done
  std::vector<SumFold> query_sums_;                      // [heads_at_once_][fold_tiles_]

  std::unique_ptr<std::byte[]> owned_memory_;
  std::byte* memory_ = nullptr;
  float *m_ = nullptr, *l_ = nullptr, *d_ = nullptr;  // [rows] each
  float* query_memory_ = nullptr;
  std::byte* slot_memory_ = nullptr;
  Control control_;
  std::atomic<bool> predicate_failed_{false};
  Progress progress_;
};

}  // namespace qkv

#endif  // QKV_PLAN_GRADIENT_PLAN_H_
