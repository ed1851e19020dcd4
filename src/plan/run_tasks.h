// How the tasks of a plan run, and how its run ends.
#ifndef QKV_PLAN_RUN_TASKS_H_
#define QKV_PLAN_RUN_TASKS_H_

#include <cstdint>

#include "kernels/attention/kernel.h"
#include "parallel/parallel.h"
#include "qkv/status.h"
#include "simd/float_environment.h"

namespace qkv {

// Runs task(index, slot) for 0 to count - 1 in the mode of the contract, until cancelled.
template <class F>
void run_tasks(parallel::Executor& executor, const Control& control, std::int64_t count,
               const F& task) {
  // In the caller's arena oneTBB would clear sticky flags of the caller's.
  const FloatEnvironment of_caller;
  executor.run(count, [&](std::int64_t index, int slot) {
    if (control.cancelled()) return false;
    const FloatEnvironment environment;
    task(index, slot);
    return true;
  });
}

inline Status cancelled_call() {
  return {StatusCode::kCancelled, "the call was cancelled; its outputs are unspecified"};
}

}  // namespace qkv

#endif  // QKV_PLAN_RUN_TASKS_H_
