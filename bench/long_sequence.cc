// Memory and time of one long causal head: peak memory beyond the tensors, and whether time grows
// like n^2. `long_sequence [N] [THREADS] [gradients]`, by default 131072 and 2; with `gradients`
// the forward pass, which keeps each row's maximum and sum, and the backward pass from them.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "qkv/gradient.h"

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

Run run(std::int64_t n, int threads, bool gradients) {
  constexpr std::int64_t kSize = 64;
  const auto size = static_cast<std::size_t>(n * kSize);
  const std::vector<float> q = numbers(n * kSize, 1), k = numbers(n * kSize, 2),
                           v = numbers(n * kSize, 3);
  const std::vector<float> d_out = gradients ? numbers(n * kSize, 4) : std::vector<float>();
  // Touched, so that their pages count as the tensors'.
  std::vector<float> out(size, 1.0f), d_q, d_k, d_v, row_max, row_sum;
  if (gradients) {
    for (std::vector<float>* of : {&d_q, &d_k, &d_v}) of->assign(size, 1.0f);
    for (std::vector<float>* of : {&row_max, &row_sum}) {
      of->assign(static_cast<std::size_t>(n), 1.0f);
    }
  }
  const auto view = [&](const std::vector<float>& x) {
    return qkv::TensorView(x.data(), {1, 1, n, kSize});
  };
  const auto target = [&](std::vector<float>& x) {
    return qkv::MutableTensorView(x.data(), {1, 1, n, kSize});
  };
  qkv::AttentionOptions options;
  options.causal = true;
  qkv::ExecutionOptions execution;
  execution.threads = threads;
  qkv::AttentionOutputs outputs;
  outputs.out = target(out);
  if (gradients) {
    outputs.row_max = {row_max.data(), {1, 1, n}};
    outputs.row_sum = {row_sum.data(), {1, 1, n}};
  }
  const std::int64_t before = peak_memory();
  const auto start = std::chrono::steady_clock::now();
  qkv::attention({view(q), view(k), view(v)}, outputs, options, execution);
  if (gradients) {
    qkv::GradientInputs in;
    in.query = view(q);
    in.key = view(k);
    in.value = view(v);
    in.d_out = view(d_out);
    in.out = view(out);
    in.row_max = outputs.row_max;
    in.row_sum = outputs.row_sum;
    qkv::attention_gradients(in, {target(d_q), target(d_k), target(d_v), {}, {}}, options,
                             execution);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {seconds, peak_memory() - before};
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t n = argc > 1 ? std::atoll(argv[1]) : 131072;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  const bool gradients = argc > 3 && std::strcmp(argv[3], "gradients") == 0;
  constexpr std::int64_t kShort = 8192;
  const auto per_pair = [](std::int64_t length, double seconds) {
    return 1e9 * seconds / (static_cast<double>(length) * static_cast<double>(length));
  };
  run(kShort, threads, gradients);  // wakes the threads
  double best = 1e9;
  for (int repeat = 0; repeat < 7; ++repeat) {
    best = std::min(best, run(kShort, threads, gradients).seconds);
  }
  const Run long_run = run(n, threads, gradients);
  std::printf("1x1x%lldx64 causal%s, %d threads: %.2f s, %.1f MB of memory beyond the tensors\n",
              static_cast<long long>(n), gradients ? ", forward and backward" : "", threads,
              long_run.seconds, static_cast<double>(long_run.extra_bytes) / 1e6);
  std::printf("time per n^2: %.4f ns, at n = %lld: %.4f ns; ratio %.3f\n",
              per_pair(n, long_run.seconds), static_cast<long long>(kShort), per_pair(kShort, best),
              per_pair(n, long_run.seconds) / per_pair(kShort, best));
}
