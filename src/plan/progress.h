// Reports the share of tasks that are done to the caller's callback, from one thread at a time.
#ifndef QKV_PLAN_PROGRESS_H_
#define QKV_PLAN_PROGRESS_H_

#include <atomic>
#include <cstdint>
#include <functional>

namespace qkv {

class Progress {
 public:
  // `report` may be empty; it must outlive this object.
  explicit Progress(const std::function<void(double)>& report) : report_(report) {}

  void start(std::int64_t tasks) {
    tasks_ = tasks;
    done_ = 0;
    reported_ = 0;
  }

  // From the threads that run tasks. The last report, 1.0, is finish()'s.
  void task_done() {
    const std::int64_t done = ++done_;
    if (!report_ || done >= tasks_) return;
    if (reporting_.test_and_set(std::memory_order_acquire)) return;  // another thread is reporting
    if (done > reported_) {  // a thread that was late must not report less than another has
      reported_ = done;
      report_(static_cast<double>(done) / static_cast<double>(tasks_));
    }
    reporting_.clear(std::memory_order_release);
  }

  void finish() {
    if (report_) report_(1.0);
  }

 private:
  const std::function<void(double)>& report_;
  std::int64_t tasks_ = 0;
  std::atomic<std::int64_t> done_{0};
  std::atomic_flag reporting_ = ATOMIC_FLAG_INIT;  // guards reported_
  std::int64_t reported_ = 0;
};

}  // namespace qkv

#endif  // QKV_PLAN_PROGRESS_H_
