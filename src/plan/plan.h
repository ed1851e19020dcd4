// How a problem is done: kernel, tiles, tasks, workspace. The cut into tasks depends on the problem
// and the kernel alone, never on threads; the order of every sum is the contract's in any case.
#ifndef QKV_PLAN_PLAN_H_
#define QKV_PLAN_PLAN_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/registry.h"
#include "parallel/parallel.h"
#include "plan/progress.h"
#include "problem/problem.h"

namespace qkv {

class Plan {
 public:
  // Validates the problem, then plans it.
  static Status make(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                     const AttentionOptions& options, const ExecutionOptions& execution,
                     std::unique_ptr<Plan>& plan);

  const PlanDescription& description() const { return description_; }

  // Fills the outputs. `workspace` is null (then the plan has its own, from the first run on) or
  // has description().workspace_bytes at least. `stop`, if not null, ends the run like a cancelled
  // one.
  Status run(std::span<std::byte> workspace, const std::atomic<bool>* stop = nullptr);
  // Runs once on other memory, as rebind() takes it; the planned memory stays planned.
  Status run_on(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                std::span<std::byte> workspace, const std::atomic<bool>* stop = nullptr);

 private:
  // Query rows of one sequence and key head that share tiles.
  struct Place {
    std::int64_t sequence, key_head, first_row;
  };

  Plan(Problem problem, const ExecutionOptions& execution, const KernelSet& kernels);

  void plan_float32();
  void plan_float64();
  void plan_slots(std::int64_t tasks_at_once, std::size_t other_bytes);
  Status prepare_workspace(std::span<std::byte> workspace);

  std::int64_t rows_of(const Sequence& sequence) const;
  Place place_of(std::int64_t tile) const;
  void fill_tile(std::int64_t tile, RowTile& rows) const;
  KeyRange keys_of_chunk(std::int64_t chunk) const;

  bool has_results() const;
  // executor_->run() with the contract's floating-point mode, until cancelled.
  void run_float32();
  void run_tiles(std::int64_t task, int slot);
  void run_chunk(std::int64_t task, int slot);
  void finish_tile(std::int64_t tile);
  void run_weights(std::int64_t task, int slot);
  void run_float64();
  void write_dead_rows();

  float* slot_states(int slot) { return reinterpret_cast<float*>(slot_memory(slot)); }
  std::byte* slot_memory(int slot) { return memory_ + slot * slot_bytes_; }
  std::byte* slot_scratch(int slot) {
    return slot_memory(slot) + static_cast<std::size_t>(tiles_at_once_) * states_bytes_;
  }
  float* chunk_states(std::int64_t tile, std::int64_t chunk);

  Problem problem_;
  ExecutionOptions execution_;
  const AttentionKernel& kernel_;
  PlanDescription description_;

  std::vector<std::int64_t> tiles_before_;  // [sequences + 1] tiles of earlier sequences
  std::int64_t tiles_ = 0;
  std::int64_t tiles_at_once_ = 1;  // tiles of a task
  std::int64_t chunk_spans_ = 0;    // spans of a chunk, a power of two; 0: keys are not cut
  std::int64_t chunks_ = 1;
  std::int64_t weight_tasks_ = 0;
  std::size_t states_bytes_ = 0, slot_bytes_ = 0;
  int slots_ = 1;
  std::unique_ptr<parallel::Executor> executor_;  // made when the tasks are known

  std::unique_ptr<std::byte[]> owned_memory_;
  std::byte* memory_ = nullptr;
  Control control_;
  std::atomic<bool> predicate_failed_{false};
  Progress progress_;
};

}  // namespace qkv

#endif  // QKV_PLAN_PLAN_H_
