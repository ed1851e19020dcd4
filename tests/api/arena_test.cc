// Threads: a call keeps to the oneTBB arena it is made in, or to the number it is given.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include "api/attention_test_util.h"

namespace qkv::test {
namespace {

// What a run used: the threads that worked, and the size of the arena they were in.
struct Used {
  std::set<std::thread::id> threads;
  std::set<int> arena_sizes;
  PlanDescription description;
};

Used run(int threads) {
  const Array q = scrambled(DType::kFloat32, {1, 40, 50, 4}, 1);
  Array out(DType::kFloat32, {1, 40, 50, 4});
  AttentionOutputs outputs;
  outputs.out = out;
  Used used;
  std::mutex mutex;
  AttentionOptions options;
  options.mask_mod = [&](const MaskTile&) {
    // Long enough for other threads to join in.
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const std::lock_guard lock(mutex);
    used.threads.insert(std::this_thread::get_id());
    used.arena_sizes.insert(tbb::this_task_arena::max_concurrency());
  };
  ExecutionOptions execution;
  execution.threads = threads;
  AttentionPlan plan({q, q, q}, outputs, options, execution);
  plan.run();
  used.description = plan.description();
  return used;
}

// More workers than this machine may have cores.
class Arena : public ::testing::Test {
 private:
  tbb::global_control workers_{tbb::global_control::max_allowed_parallelism, 8};
};

TEST_F(Arena, OfOneThread) {
  tbb::task_arena arena(1);
  const Used used = arena.execute([] { return run(0); });
  EXPECT_EQ(used.threads, std::set{std::this_thread::get_id()});
  EXPECT_EQ(used.description.threads, 1);
}

TEST_F(Arena, OfSeveralThreads) {
  for (int size : {2, 3, 6}) {
    tbb::task_arena arena(size);
    const Used used = arena.execute([] { return run(0); });
    EXPECT_LE(used.threads.size(), static_cast<std::size_t>(size));
    EXPECT_EQ(used.arena_sizes, std::set{size}) << "work left the arena";
    EXPECT_EQ(used.description.threads, size);
  }
}

TEST_F(Arena, ThreadsAreAtMostTheNumberGiven) {
  for (int threads : {1, 2, 5}) {
    const Used used = run(threads);
    EXPECT_LE(used.threads.size(), static_cast<std::size_t>(threads));
    EXPECT_EQ(used.description.threads, threads);
  }
  EXPECT_EQ(run(1).threads, std::set{std::this_thread::get_id()});
}

TEST_F(Arena, SeveralThreadsReallyWork) { EXPECT_GT(run(4).threads.size(), 1u); }

// "The library never prints", also if it is asked for more threads than there are cores. In a
// process of its own, since oneTBB gives each warning once.
TEST(ManyThreads, PrintNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int threads = 2 * tbb::this_task_arena::max_concurrency() + 1;
  EXPECT_EXIT(
      {
        run(threads);
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0), "^$");
}

// Planned in one arena, run in others: the workspace fits, the bits are the same.
TEST_F(Arena, PlannedElsewhere) {
  const Array q = scrambled(DType::kFloat32, {1, 40, 50, 4}, 1);
  Array out(DType::kFloat32, {1, 40, 50, 4});
  AttentionOutputs outputs;
  outputs.out = out;
  attention({q, q, q}, outputs);
  const Bits expected = out.bytes();
  for (int planned : {1, 2, 6}) {
    tbb::task_arena at_planning(planned);
    AttentionPlan plan = at_planning.execute([&] { return AttentionPlan({q, q, q}, outputs); });
    std::vector<std::byte> workspace(plan.description().workspace_bytes);
    for (int size : {1, 3, 8}) {
      tbb::task_arena arena(size);
      fill_with_junk(out);
      arena.execute([&] { plan.run(workspace); });
      EXPECT_EQ(out.bytes(), expected) << planned << " " << size;
    }
  }
}

}  // namespace
}  // namespace qkv::test
