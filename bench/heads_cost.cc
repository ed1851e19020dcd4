// What several heads cost: a layer of d = 512 with 8 heads of 64 against one with one head of 512,
// W_Q to W_O and attention, forward and backward. `heads_cost [TOKENS] [THREADS]`, by default 512
// and 1; medians of 15 interleaved runs.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "qkv/nn.h"

namespace {

constexpr int kRepeats = 15;

class Layer {
 public:
  Layer(std::int64_t heads, std::int64_t tokens, int threads)
      : rng_(1),
        attention_(parameters_, "attention", {512, heads}, rng_),
        tape_(execution(threads)),
        x_(static_cast<std::size_t>(tokens * 512)),
        tokens_(tokens) {
    std::vector<double> numbers(x_.size());
    rng_.normal(numbers);
    std::transform(numbers.begin(), numbers.end(), x_.begin(),
                   [](double number) { return static_cast<float>(number); });
  }

  std::int64_t count() const { return parameters_.count(); }

  // Milliseconds of a forward and of a backward pass.
  void run(std::vector<double>& forward, std::vector<double>& both) {
    const auto start = std::chrono::steady_clock::now();
    const auto passed = [&] {
      return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
          .count();
    };
    tape_.clear();
    const qkv::TensorView x(x_.data(), {1, tokens_, 512});
    const qkv::nn::Var y = attention_(tape_, tape_.constant(x));
    forward.push_back(passed());
    const qkv::nn::Var loss = tape_.mean_squared_error(y, x);
    parameters_.clear_gradients();
    tape_.backward(loss);
    both.push_back(passed());
  }

 private:
  static qkv::ExecutionOptions execution(int threads) {
    qkv::ExecutionOptions options;
    options.threads = threads;
    return options;
  }

  qkv::random::Generator rng_;
  qkv::nn::Parameters parameters_;
  qkv::nn::MultiHeadAttention attention_;
  qkv::nn::Tape tape_;
  std::vector<float> x_;
  std::int64_t tokens_;
};

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t tokens = argc > 1 ? std::atoll(argv[1]) : 512;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  Layer eight(8, tokens, threads), one(1, tokens, threads);
  std::vector<double> warm_up, forward[2], both[2];
  eight.run(warm_up, warm_up);
  one.run(warm_up, warm_up);
  for (int n = 0; n < kRepeats; ++n) {
    eight.run(forward[0], both[0]);
    one.run(forward[1], both[1]);
  }
  std::printf("d 512, %lld tokens, %d threads; parameters: 8 heads of 64 %lld, one of 512 %lld\n",
              static_cast<long long>(tokens), threads, static_cast<long long>(eight.count()),
              static_cast<long long>(one.count()));
  std::printf("forward:              %.2f ms and %.2f ms, ratio %.3f\n", median(forward[0]),
              median(forward[1]), median(forward[0]) / median(forward[1]));
  std::printf("forward and backward: %.2f ms and %.2f ms, ratio %.3f\n", median(both[0]),
              median(both[1]), median(both[0]) / median(both[1]));
}
