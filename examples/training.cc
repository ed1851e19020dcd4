// A training loop: two blocks of attention learn to write a row of digits backwards, and are saved.
//
//   training model.safetensors
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "qkv/checkpoint.h"

namespace nn = qkv::nn;

constexpr std::int64_t kDigits = 10, kLength = 12, kBatch = 32, kSize = 32, kSteps = 100;

int main(int argc, char** argv) {
  // The model: digits and positions as vectors, two blocks, a score for each digit.
  qkv::random::Generator rng(0);
  nn::Parameters parameters;
  const nn::Embedding digits(parameters, "digits", kDigits, kSize, rng, 0.2);
  const nn::LearnedPositions positions(parameters, "positions", kLength, kSize, rng, 0.2);
  const nn::Block first(parameters, "block.0", {kSize, 2}, 4 * kSize, rng);
  const nn::Block second(parameters, "block.1", {kSize, 2}, 4 * kSize, rng);
  const nn::Linear out(parameters, "out", kSize, kDigits, rng);
  qkv::throw_if_error(parameters.status());

  nn::AdamW optimizer(parameters);
  nn::Tape tape;
  const std::int64_t shape[] = {kBatch, kLength};
  std::vector<std::int64_t> rows(kBatch * kLength), backwards(rows.size());
  for (std::int64_t step = 0; step < kSteps; ++step) {
    rng.integers(rows, 0, kDigits);
    for (auto row = rows.begin(), to = backwards.begin(); row != rows.end(); row += kLength) {
      to = std::reverse_copy(row, row + kLength, to);
    }
    // Forward ...
    tape.clear();
    nn::Var x = positions(tape, digits(tape, rows, shape));
    x = second(tape, first(tape, x));
    const nn::Var logits = out(tape, x);
    const nn::Var loss = tape.cross_entropy(logits, backwards);
    // ... backward, and a step.
    parameters.clear_gradients();
    tape.backward(loss);
    nn::clip_gradients(parameters, 1);
    optimizer.step(nn::cosine_schedule(step, 20, kSteps, 5e-3f));

    if (step % 20 != 19) continue;
    const auto* scores = static_cast<const float*>(tape.value(logits).data);
    int right = 0;
    for (std::size_t n = 0; n < rows.size(); ++n, scores += kDigits) {
      right += std::max_element(scores, scores + kDigits) - scores == backwards[n];
    }
    std::printf("step %3lld  loss %.4f  %.1f %% right\n", static_cast<long long>(step) + 1,
                static_cast<double>(*static_cast<const float*>(tape.value(loss).data)),
                100.0 * right / static_cast<double>(rows.size()));
  }
  if (argc > 1) qkv::throw_if_error(nn::save_parameters(argv[1], parameters, {.overwrite = true}));
}
