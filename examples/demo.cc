// `make demo`: attends over real queries, keys and values, those of two layers of the sentence
// encoder all-MiniLM-L6-v2 on the beginning of Alice in Wonderland, and shows what came of it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "qkv/attention.h"
#include "qkv/io.h"

namespace {

qkv::Tensor read(const qkv::io::Reader& file, const std::string& name) {
  qkv::Tensor tensor;
  qkv::throw_if_error(file.read(name, tensor));
  return tensor;
}

// The words of a JSON list of strings, as the file's metadata has them.
std::vector<std::string> words_of(const std::string& json) {
  std::vector<std::string> words;
  for (std::size_t n = json.find('"'); n != std::string::npos; n = json.find('"', n + 1)) {
    std::string word;
    for (++n; json[n] != '"'; ++n) {
      if (json[n] == '\\') ++n;
      word += json[n];
    }
    words.push_back(word);
  }
  return words;
}

// Spaces up to `width` characters, which UTF-8 may write in several bytes each.
std::string padded(std::string text, std::size_t width) {
  std::size_t characters = 0;
  for (char c : text) characters += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  if (characters < width) text.append(width - characters, ' ');
  return text;
}

std::vector<double> as_double(const qkv::Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.size()};
}

// The same attention in double precision, by the engine's plain loops.
std::vector<double> reference(const qkv::AttentionInputs& in, const qkv::Tensor& q,
                              const qkv::Tensor& k, const qkv::Tensor& v) {
  const std::vector<double> q64 = as_double(q), k64 = as_double(k), v64 = as_double(v);
  std::vector<double> out(q64.size());
  const auto like = [](const std::vector<double>& numbers, const qkv::TensorView& view) {
    return qkv::TensorView(numbers.data(),
                           {view.extent(0), view.extent(1), view.extent(2), view.extent(3)});
  };
  qkv::AttentionOutputs outputs;
  outputs.out = {out.data(), {q.extent(0), q.extent(1), q.extent(2), v.extent(3)}};
  qkv::attention({like(q64, in.query), like(k64, in.key), like(v64, in.value)}, outputs);
  return out;
}

// Runs one layer and prints shape, kernel, time, error, and the keys that `rows` attend to most.
void show_layer(const qkv::io::Reader& file, const std::string& layer,
                const std::vector<std::string>& words, const std::vector<std::int64_t>& rows) {
  const qkv::Tensor q = read(file, layer + ".q"), k = read(file, layer + ".k"),
                    v = read(file, layer + ".v");
  const qkv::AttentionInputs inputs{q, k, v};
  const std::int64_t heads = q.extent(1), tokens = q.extent(2);
  const auto chosen = static_cast<std::int64_t>(rows.size());
  std::vector<float> out(static_cast<std::size_t>(q.size()));
  std::vector<float> weights(static_cast<std::size_t>(heads * chosen * tokens));
  qkv::AttentionOutputs outputs;
  outputs.out = {out.data(), {1, heads, tokens, v.extent(3)}};

  // The fast path alone is timed, once warm; the weights of a few rows are asked for apart.
  qkv::AttentionPlan plan(inputs, outputs);
  plan.run();
  const auto start = std::chrono::steady_clock::now();
  plan.run();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  qkv::AttentionOutputs weights_only;
  weights_only.weights = {weights.data(), {1, heads, chosen, tokens}};
  weights_only.selection.rows = rows;
  qkv::attention(inputs, weights_only);

  const std::vector<double> right = reference(inputs, q, k, v);
  double error = 0, largest = 0;
  for (std::size_t n = 0; n < right.size(); ++n) {
    error = std::max(error, std::abs(out[n] - right[n]));
    largest = std::max(largest, std::abs(right[n]));
  }
  std::printf("\n%s: query %s\n", layer.c_str(), qkv::describe(q).c_str());
  const int threads = plan.description().threads;
  std::printf("  kernel      %s; %d thread%s\n", plan.description().kernel.c_str(), threads,
              threads == 1 ? "" : "s");
  const double flops = 2.0 * static_cast<double>(heads * tokens * tokens) *
                       static_cast<double>(q.extent(3) + v.extent(3));
  std::printf("  time        %.3f ms, %.0f GFLOP/s\n", 1e3 * seconds, flops / seconds * 1e-9);
  std::printf("  accuracy    largest difference from double precision %.1e (largest output %.2f)\n",
              error, largest);
  std::printf("  What a few tokens attend to most, head by head:\n");
  for (std::int64_t r = 0; r < chosen; ++r) {
    const std::int64_t row = rows[static_cast<std::size_t>(r)];
    std::printf("\n  %lld \"%s\"\n", static_cast<long long>(row),
                words[static_cast<std::size_t>(row)].c_str());
    for (std::int64_t head = 0; head < heads; ++head) {
      const float* w = weights.data() + (head * chosen + r) * tokens;
      std::vector<std::int64_t> order(static_cast<std::size_t>(tokens));
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + 3, order.end(),
                        [&](std::int64_t a, std::int64_t b) { return w[a] > w[b]; });
      std::printf("    head %2lld ", static_cast<long long>(head));
      for (int n = 0; n < 3; ++n) {
        const std::int64_t j = order[static_cast<std::size_t>(n)];
        const std::string label = std::to_string(j) + " " + words[static_cast<std::size_t>(j)];
        std::printf("  %s %4.1f %%", padded(label, 16).c_str(), 100.0 * static_cast<double>(w[j]));
      }
      std::printf("\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: demo examples/data/minilm.safetensors\n");
    return 2;
  }
  try {
    qkv::io::Reader file;
    qkv::throw_if_error(qkv::io::Reader::open(argv[1], file));
    for (const char* entry : {"tokens", "model", "text"}) {
      if (file.metadata().contains(entry)) continue;
      std::fprintf(stderr,
                   "demo: %s has no metadata \"%s\"; pass examples/data/minilm.safetensors\n",
                   argv[1], entry);
      return 2;
    }
    const std::vector<std::string> words = words_of(file.metadata().at("tokens"));
    std::printf("Attention of %s over %zu tokens of \"%s\"\n", file.metadata().at("model").c_str(),
                words.size(), file.metadata().at("text").c_str());
    // "she", the closing bracket, "itself"
    const std::vector<std::int64_t> rows = {27, 95, 160};
    show_layer(file, "layer2", words, rows);
    show_layer(file, "layer5", words, rows);
    std::printf("\nThe number before a token is its place; ## marks the rest of a word.\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "demo: %s\n", error.what());
    return 1;
  }
}
