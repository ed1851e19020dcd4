// Tasks on several threads. Knows nothing of attention. What the tasks are never depends on how
// many threads run them.
#ifndef QKV_PARALLEL_PARALLEL_H_
#define QKV_PARALLEL_PARALLEL_H_

#include <cstdint>
#include <limits>
#include <memory>

namespace qkv::parallel {

// Called as task(context, index, slot) for every index; false: no other index need be started.
// Calls with one slot never run at once, so that a slot can own scratch memory.
using Task = bool (*)(const void* context, std::int64_t index, int slot);

// Where tasks run.
class Executor {
 public:
  // `threads` at most; 0: as many as the surrounding oneTBB arena has at this moment, and in the
  // arena that surrounds each call of run(). No more slots than `tasks`.
  explicit Executor(int threads, std::int64_t tasks = std::numeric_limits<std::int64_t>::max());
  ~Executor();
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;

  // Slots that run() uses, at most. Fixed for the executor's life.
  int slots() const { return slots_; }

  // Runs task(context, 0 .. count - 1, slot); returns when all that were started are done. Indices
  // are started in order. Allocates nothing after the first call, but for what oneTBB itself does.
  void run(std::int64_t count, Task task, const void* context);

  // The same for any const callable bool f(index, slot).
  template <class F>
  void run(std::int64_t count, const F& f) {
    run(
        count,
        [](const void* context, std::int64_t index, int slot) {
          return (*static_cast<const F*>(context))(index, slot);
        },
        &f);
  }

 private:
  struct Arena;
  int slots_;
  std::unique_ptr<Arena> arena_;
};

// Threads that a call here and now could use.
int available_threads();

// Lets other threads run, for one that waits for them.
void yield();

// "oneTBB" or "serial".
const char* backend_name();

}  // namespace qkv::parallel

#endif  // QKV_PARALLEL_PARALLEL_H_
