// The sums of a backward pass, or of its tangents. A task is a column: one span of keys of one key
// head, through all query rows that see it, from the first to the last. It keeps d_key and d_value
// of its keys; what it gives to d_query of a tile of rows joins that of the columns before it, in
// the contract's order, so a column waits at a tile until the column before has passed it. Tasks
// start in order, so that whoever is waited for is at work, and the columns of a head run side by
// side, some tiles apart.
#ifndef QKV_PLAN_COLUMN_SUMS_H_
#define QKV_PLAN_COLUMN_SUMS_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/gradient/kernel.h"
#include "plan/columns.h"
#include "plan/sum_fold.h"

namespace qkv {

// Scratch memory of a slot.
struct SlotMemory {
  std::byte* kernel;  // for the kernel's calls
  std::byte* sums;    // ColumnSums::slot_bytes()
};

class ColumnSums {
 public:
  // Adds the pairs of a tile of rows and a column's keys to sums, as GradientKernel::add_span.
  using AddSpan = std::function<void(const KeyHead& at, const RowTile& rows, KeyRange keys,
                                     const SpanSums& sums)>;

  // For the results d_query, d_key and d_value of `g`, which the kernel writes. Columns may run on
  // `slots` threads. All of them must stay where they are.
  void plan(const GradientProblem& g, const Columns& columns, const GradientKernel& kernel,
            int slots);
  std::size_t slot_bytes() const;
  // Floats of the memory that start() takes.
  std::int64_t shared_floats() const;

  // Before each run.
  void start(float* shared);
  void run(std::int64_t column, const SlotMemory& memory, const Control& control,
           const AddSpan& add_span);

 private:
  // What a task has at hand.
  struct Work {
    const KeyHead& at;
    std::int64_t column;
    std::byte* scratch;
    const Control& control;
  };
  bool touches_any(const KeyHead& at, std::int64_t tile) const;
  void wait_until(std::int64_t column, std::int64_t steps, const Control& control) const;
  void wait_for_earlier_head(std::int64_t n_head, const Control& control) const;
  void join_d_query(const Work& work, const RowTile& rows, bool touched, SumFold& sums,
                    float* partial, std::int64_t step) const;
  void write_d_query(const Work& work, const RowTile& rows, const float* sums) const;
  void write_keys(const Work& work, KeyRange keys, const float* sums) const;

  const GradientProblem* g_ = nullptr;
  const Columns* columns_ = nullptr;
  const GradientKernel* kernel_ = nullptr;
  std::int64_t fold_tiles_ = 0;     // tiles that fold, of one key head at most
  std::int64_t heads_at_once_ = 1;  // key heads whose folds of d_query there is memory for
  std::unique_ptr<std::atomic<std::int64_t>[]> passed_;  // [columns] steps done
  std::vector<SumFold> query_sums_;                      // [heads_at_once_][fold_tiles_]
};

}  // namespace qkv

#endif  // QKV_PLAN_COLUMN_SUMS_H_
