// Executors come and go by the thousand: every call with a number of threads makes one.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "parallel/parallel.h"
#include "support/sanitizers.h"

namespace qkv::parallel {
namespace {

// Resident memory of this process in bytes (VmRSS of /proc/self/status).
std::int64_t resident_memory() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  char line[256];
  long long kilobytes = 0;
  while (file != nullptr && std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::strncmp(line, "VmRSS:", 6) == 0) std::sscanf(line + 6, "%lld", &kilobytes);
  }
  if (file != nullptr) std::fclose(file);
  return std::int64_t{kilobytes} * 1024;
}

void run_executors(int count) {
  std::atomic<std::int64_t> sum{0};
  for (int n = 0; n < count; ++n) {
    Executor executor(2);
    executor.run(8, [&](std::int64_t index, int) {
      sum += index;
      return true;
    });
  }
  EXPECT_EQ(sum, 28 * std::int64_t{count});
}

TEST(Executor, ThousandsOfThemNeedNoMoreMemoryThanOne) {
#if defined(QKV_SANITIZED)
  GTEST_SKIP() << "sanitizers keep freed memory";
#endif
  run_executors(200);
  const std::int64_t before = resident_memory();
  run_executors(5000);
  EXPECT_LT(resident_memory() - before, 2 << 20);
}

// Each has threads of its own, however many there are at once.
TEST(Executor, OneWithinAnotherHasItsSlots) {
  Executor outer(2);
  std::atomic<int> done{0};
  outer.run(4, [&](std::int64_t, int) {
    Executor inner(3);
    EXPECT_EQ(inner.slots(), 3);
    inner.run(10, [&](std::int64_t, int slot) {
      EXPECT_LT(slot, 3);
      ++done;
      return true;
    });
    return true;
  });
  EXPECT_EQ(done, 40);
}

}  // namespace
}  // namespace qkv::parallel
