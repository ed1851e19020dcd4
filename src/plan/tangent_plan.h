// How tangents are done. First tiles of query rows, each over all its keys: what moves in out and
// LSE. Then, for tangents of gradients, columns (column_sums.h), and the sums beside them.
#ifndef QKV_PLAN_TANGENT_PLAN_H_
#define QKV_PLAN_TANGENT_PLAN_H_

#include <atomic>
#include <cstddef>
#include <memory>

#include "kernels/registry.h"
#include "parallel/parallel.h"
#include "plan/bias_sums.h"
#include "plan/column_sums.h"
#include "plan/columns.h"
#include "plan/forward_results.h"
#include "plan/progress.h"
#include "problem/tangent_problem.h"

namespace qkv {

class TangentPlan {
 public:
  // Validates the problem, of which inputs and outputs are filled, then plans it.
  static Status make(TangentProblem problem, const AttentionOptions& options,
                     const ExecutionOptions& execution, std::unique_ptr<TangentPlan>& plan);

  // `stop`, if not null, ends the run like a cancelled one.
  Status run(const std::atomic<bool>* stop = nullptr);

 private:
  TangentPlan(TangentProblem problem, const ExecutionOptions& execution, const KernelSet& kernels);
  void plan_float32();
  void plan_float64();
  Status allocate_memory();

  void run_float32();
  void run_float64();
  void prepare_rows();
  void run_tile(std::int64_t task, int slot);
  void run_column(std::int64_t task, int slot);
  void run_bias(std::int64_t task, int slot);
  void run_sinks();

  bool has_columns() const;
  GradientTile tile_of(const KeyHead& at, const RowTile& rows) const;
  TangentTile with_tangents(const KeyHead& at, const RowTile& rows) const;
  float* move_forward(const KeyHead& at, const GradientTile& tile, int slot);
  std::byte* slot_scratch(int slot) const { return slot_memory_ + slot * slot_bytes_; }
  std::byte* slot_sums(int slot) const { return slot_scratch(slot) + kernel_scratch_bytes_; }

  TangentProblem problem_;
  ExecutionOptions execution_;
  const KernelSet& kernels_;
  TangentKernel kernel_;

  ForwardResults forward_;
  Columns columns_;
  ColumnSums sums_;
  std::int64_t tasks_ = 0;
  std::size_t kernel_scratch_bytes_ = 0, slot_bytes_ = 0;
  int slots_ = 1;
  std::unique_ptr<parallel::Executor> executor_;

  std::unique_ptr<std::byte[]> memory_;
  float *m_ = nullptr, *l_ = nullptr, *lse_ = nullptr, *d_ = nullptr,
        *d_tangent_ = nullptr;  // [rows] each
  float* shared_ = nullptr;     // of sums_
  std::byte* slot_memory_ = nullptr;
  Control control_;
  std::atomic<bool> predicate_failed_{false};
  Progress progress_;
};

}  // namespace qkv

#endif  // QKV_PLAN_TANGENT_PLAN_H_
