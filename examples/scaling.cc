// The lesson's scaling.py on the engine: dot products of random vectors spread like sqrt(d_k).
// Prints exactly what the Python prints:
//   8.08 1.01
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "numpy_print.h"
#include "qkv/matmul.h"
#include "qkv/random.h"

namespace {

// rng.normal(size=count), in float32.
std::vector<float> normal(qkv::random::Generator& rng, std::size_t count) {
  std::vector<double> numbers(count);
  rng.normal(numbers);
  return {numbers.begin(), numbers.end()};
}

// scores.std()
double deviation(const std::vector<float>& numbers, double divisor) {
  double sum = 0, squares = 0;
  for (float x : numbers) sum += x / divisor;
  const double mean = sum / static_cast<double>(numbers.size());
  for (float x : numbers) squares += (x / divisor - mean) * (x / divisor - mean);
  return std::sqrt(squares / static_cast<double>(numbers.size()));
}

}  // namespace

int main() {
  constexpr std::int64_t kQueries = 10000, kSize = 64;
  qkv::random::Generator rng(0);
  const std::vector<float> q = normal(rng, kQueries * kSize);  // 10,000 random queries, d_k = 64
  const std::vector<float> k = normal(rng, kQueries * kSize);

  // 10,000 dot products: [10000, 1, 64] times [10000, 64, 1].
  std::vector<float> scores(kQueries);
  qkv::matmul({q.data(), {kQueries, 1, kSize}}, {k.data(), {kQueries, kSize, 1}},
              {scores.data(), {kQueries, 1, 1}});
  std::printf("%s %s\n", shortest(deviation(scores, 1), 2).c_str(),
              shortest(deviation(scores, 8), 2).c_str());
}
