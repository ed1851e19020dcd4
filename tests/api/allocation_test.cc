// A plan's second run allocates nothing. Counts every allocation of this program: operator new, and
// with glibc also malloc and its kin, in whatever library they are called.
#include <atomic>
#include <cstdlib>
#include <new>

#include "api/attention_test_util.h"
#include "support/sanitizers.h"

namespace {
std::atomic<long> allocations{0};
}  // namespace

#if defined(__GLIBC__) && !defined(QKV_SANITIZED)
#define QKV_COUNTS_MALLOC 1
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  ++allocations;
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  ++allocations;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}
#else
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace qkv::test {
namespace {

TEST(Counting, SeesAllocations) {
  const long before = allocations;
  ::operator delete(::operator new(1));  // unlike `delete new int`, never left out
  const long between = allocations;
  EXPECT_GT(between, before);
#ifdef QKV_COUNTS_MALLOC
  void* volatile memory = std::malloc(1);
  std::free(memory);
  EXPECT_GT(allocations, between);
#endif
}

class Allocation : public SettingTest {
 protected:
  // Allocations of the run after the first on one thread.
  long of_second_run(const Array& q, const Array& k, const Array& v,
                     const AttentionOptions& options, bool weights) {
    Shape shape = q.shape();
    shape.back() = k.shape()[k.shape().size() - 2];
    Array out(setting().result_type(), q.shape()), all(setting().result_type(), shape);
    AttentionOutputs outputs;
    outputs.out = out;
    if (weights) outputs.weights = all;
    AttentionPlan plan({q, k, v}, outputs, widened(options), setting().execution(1));
    plan.run();
    const long before = allocations;
    plan.run();
    plan.run({q, k, v}, outputs);
    return allocations - before;
  }
};
INSTANTIATE_TEST_SUITE_P(AllKernels, Allocation, ::testing::ValuesIn(all_settings()), setting_name);

TEST_P(Allocation, SecondRunAllocatesNothing) {
  const Array q = scrambled(dtype(), {1, 2, 60, 16}, 1), k = scrambled(dtype(), {1, 2, 90, 16}, 2);
  AttentionOptions options;
  options.causal = true;
  options.sinks = {1, 2};
  EXPECT_EQ(of_second_run(q, k, k, options, false), 0);
  EXPECT_EQ(of_second_run(q, k, k, options, true), 0);
}

TEST_P(Allocation, SecondRunOverManySpansAllocatesNothing) {
  const Array q = scrambled(dtype(), {1, 1, 2, 8}, 1), k = scrambled(dtype(), {1, 1, 5000, 8}, 2);
  EXPECT_EQ(of_second_run(q, k, k, {}, true), 0);
}

TEST_P(Allocation, SecondRunWithCallbacksAndLengthsAllocatesNothing) {
  const Array q = scrambled(dtype(), {2, 1, 20, 8}, 1), k = scrambled(dtype(), {2, 1, 70, 8}, 2);
  AttentionOptions options;
  options.mask_mod = mask_mod([](auto, auto, auto p, auto j) { return (p + j) % 3 != 0; });
  if (dtype() != DType::kFloat64) {
    options.score_mod = score_mod([](float s, auto, auto, auto, auto) { return s * 2; });
  }
  options.alibi_slopes = {0.5f};
  options.key_lengths = {30, 70};
  options.query_lengths = {20, 3};
  EXPECT_EQ(of_second_run(q, k, k, options, true), 0);
}

TEST_P(Allocation, AWorkspaceOfTheCallersLeavesNothingToAllocate) {
  const Array q = scrambled(dtype(), {1, 2, 60, 16}, 1);
  Array out(setting().result_type(), q.shape());
  AttentionOutputs outputs;
  outputs.out = out;
  AttentionPlan plan({q, q, q}, outputs, widened({}), setting().execution(1));
  std::vector<std::byte> workspace(plan.description().workspace_bytes);
  const long before = allocations;
  plan.run(workspace);  // the first run
  EXPECT_EQ(allocations - before, 0);
}

}  // namespace
}  // namespace qkv::test
