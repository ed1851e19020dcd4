// What the sizes of contract A cost and gain: speed and error of one build. bench/block_study.sh
// builds this with several sizes and interleaves their runs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "qkv/attention.h"
#include "qkv/random.h"

namespace {

std::vector<float> normal(qkv::random::Generator& rng, std::int64_t count) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  rng.normal(numbers);
  return {numbers.begin(), numbers.end()};
}

// Root of the mean squared error of the first rows of the first head, against double.
double rms_error(const std::vector<float>& q, const std::vector<float>& k,
                 const std::vector<float>& v, const std::vector<float>& out, std::int64_t n,
                 std::int64_t d) {
  constexpr std::int64_t kRows = 64;
  const auto first = [](const std::vector<float>& x, std::int64_t count) {
    return std::vector<double>(x.begin(), x.begin() + count);
  };
  const std::vector<double> q64 = first(q, kRows * d), k64 = first(k, n * d), v64 = first(v, n * d);
  std::vector<double> right(static_cast<std::size_t>(kRows * d));
  qkv::AttentionOutputs outputs;
  outputs.out = {right.data(), {kRows, d}};
  qkv::attention({{q64.data(), {kRows, d}}, {k64.data(), {n, d}}, {v64.data(), {n, d}}}, outputs);
  double sum = 0;
  for (std::size_t i = 0; i < right.size(); ++i) sum += std::pow(out[i] - right[i], 2);
  return std::sqrt(sum / static_cast<double>(right.size()));
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t heads = 8, n = argc > 1 ? std::atoll(argv[1]) : 4096,
                     d = argc > 2 ? std::atoll(argv[2]) : 64;
  qkv::random::Generator rng(0);
  const std::vector<float> q = normal(rng, heads * n * d), k = normal(rng, heads * n * d),
                           v = normal(rng, heads * n * d);
  std::vector<float> out(q.size());
  const auto view = [&](const std::vector<float>& x) {
    return qkv::TensorView(x.data(), {1, heads, n, d});
  };
  qkv::AttentionOutputs outputs;
  outputs.out = {out.data(), {1, heads, n, d}};
  qkv::ExecutionOptions one_thread;
  one_thread.threads = 1;
  qkv::AttentionPlan plan({view(q), view(k), view(v)}, outputs, {}, one_thread);
  std::vector<double> seconds;
  for (int repeat = 0; repeat < 4; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    plan.run();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  const double flops = 4.0 * static_cast<double>(heads * n * n * d);
  std::printf("block %lld span %lld group %lld: %.1f GFLOP/s, rms error %.3e\n",
              static_cast<long long>(qkv::contract().block),
              static_cast<long long>(qkv::contract().span),
              static_cast<long long>(qkv::contract().group), flops / seconds[1] / 1e9,
              rms_error(q, k, v, out, n, d));
}
