// Memory and time of one long causal head: peak memory beyond the tensors, and whether time grows
// like n^2. `long_sequence [N] [THREADS]`, by default 131072 and 2.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "qkv/attention.h"

namespace {

// Peak resident memory of this process in bytes (VmHWM of /proc/self/status).
std::int64_t peak_memory() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  char line[256];
  long long kilobytes = 0;
  while (file != nullptr && std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::strncmp(line, "VmHWM:", 6) == 0) std::sscanf(line + 6, "%lld", &kilobytes);
  }
  if (file != nullptr) std::fclose(file);
  return std::int64_t{kilobytes} * 1024;
}

std::vector<float> numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& value : x) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-30f;
  }
  return x;
}

struct Run {
  double seconds;
  std::int64_t extra_bytes;  // peak memory less what was there before the call
};

Run run(std::int64_t n, int threads) {
  constexpr std::int64_t kSize = 64;
  const std::vector<float> q = numbers(n * kSize, 1), k = numbers(n * kSize, 2),
                           v = numbers(n * kSize, 3);
  std::vector<float> out(q.size(), 1.0f);  // touched, so that its pages count as the tensor's
  const auto view = [&](const std::vector<float>& x) {
    return qkv::TensorView(x.data(), {1, 1, n, kSize});
  };
  qkv::AttentionOptions options;
  options.causal = true;
  qkv::ExecutionOptions execution;
  execution.threads = threads;
  qkv::AttentionOutputs outputs;
  outputs.out = {out.data(), {1, 1, n, kSize}};
  const std::int64_t before = peak_memory();
  const auto start = std::chrono::steady_clock::now();
  qkv::attention({view(q), view(k), view(v)}, outputs, options, execution);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {seconds, peak_memory() - before};
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t n = argc > 1 ? std::atoll(argv[1]) : 131072;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  constexpr std::int64_t kShort = 8192;
  const auto per_pair = [](std::int64_t length, double seconds) {
    return 1e9 * seconds / (static_cast<double>(length) * static_cast<double>(length));
  };
  run(kShort, threads);  // wakes the threads
  double best = 1e9;
  for (int repeat = 0; repeat < 7; ++repeat) best = std::min(best, run(kShort, threads).seconds);
  const Run long_run = run(n, threads);
  std::printf("1x1x%lldx64 causal, %d threads: %.2f s, %.1f MB of memory beyond the tensors\n",
              static_cast<long long>(n), threads, long_run.seconds,
              static_cast<double>(long_run.extra_bytes) / 1e6);
  std::printf("time per n^2: %.4f ns, at n = %lld: %.4f ns; ratio %.3f\n",
              per_pair(n, long_run.seconds), static_cast<long long>(kShort), per_pair(kShort, best),
              per_pair(n, long_run.seconds) / per_pair(kShort, best));
}
