#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "parallel/parallel.h"

namespace qkv::parallel {

namespace {

// Arenas that no executor uses at the moment. Making one takes oneTBB longer than a small problem,
// and what it needs for one is not given back (2021.8: 120 kB for 25 calls on two threads).
class IdleArenas {
 public:
  std::unique_ptr<tbb::task_arena> take(int threads) {
    const std::lock_guard lock(mutex_);
    auto& idle = idle_[threads];
    if (idle.empty()) return std::make_unique<tbb::task_arena>(threads);
    std::unique_ptr<tbb::task_arena> arena = std::move(idle.back());
    idle.pop_back();
    return arena;
  }
  void put_back(int threads, std::unique_ptr<tbb::task_arena> arena) {
    const std::lock_guard lock(mutex_);
    idle_[threads].push_back(std::move(arena));
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<std::unique_ptr<tbb::task_arena>>> idle_;
};

// Never destroyed: oneTBB may be gone before a static object's end.
IdleArenas& idle_arenas() {
  static auto* const arenas = new IdleArenas;
  return *arenas;
}

}  // namespace

struct Executor::Arena {
  explicit Arena(int slots) : threads(slots) {
    // oneTBB gives no more threads than there are cores, and prints a warning, unless told so. An
    // arena made while it is told so is not kept for later.
    using Control = tbb::global_control;
    const auto wanted = static_cast<std::size_t>(threads);
    if (wanted > Control::active_value(Control::max_allowed_parallelism)) {
      more_threads.emplace(Control::max_allowed_parallelism, wanted);
      arena = std::make_unique<tbb::task_arena>(threads);
    } else {
      arena = idle_arenas().take(threads);
    }
  }
  ~Arena() {
    if (!more_threads) idle_arenas().put_back(threads, std::move(arena));
  }
  int threads;
  std::optional<tbb::global_control> more_threads;
  std::unique_ptr<tbb::task_arena> arena;
};

Executor::Executor(int threads, std::int64_t tasks)
    : slots_(static_cast<int>(
          std::clamp<std::int64_t>(tasks, 1, threads > 0 ? threads : available_threads()))) {
  if (threads > 0) arena_ = std::make_unique<Arena>(slots_);
}
Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;

void Executor::run(std::int64_t count, Task task, const void* context) {
  // One worker a slot; each takes the next index until none is left. However many threads the arena
  // gives us, slots never meet, and nothing but the order of execution depends on it.
  const int workers = static_cast<int>(std::min<std::int64_t>(slots_, count));
  std::atomic<std::int64_t> next{0};
  const auto work = [&](int slot) {
    for (std::int64_t index = next++; index < count; index = next++) {
      if (!task(context, index, slot)) next = count;
    }
  };
  if (workers <= 1) {
    if (workers == 1) work(0);
    return;
  }
  const auto all = [&] { tbb::parallel_for(0, workers, work, tbb::simple_partitioner()); };
  if (arena_) {
    arena_->arena->execute(all);
  } else {
    all();
  }
}

int available_threads() { return tbb::this_task_arena::max_concurrency(); }

void yield() { std::this_thread::yield(); }

const char* backend_name() { return "oneTBB"; }

}  // namespace qkv::parallel
