// The lesson's attention.py on the engine: one query that attends to three tokens, then
// self-attention of five tokens, which doesn't care in which order they come.
// Prints exactly what the Python prints:
//   [[0.14  0.284 0.576]] [[4.28 5.72]]
//   True
#include "qkv/attention.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "numpy_print.h"
#include "qkv/matmul.h"
#include "qkv/random.h"

namespace {

using Matrix = std::vector<float>;  // row by row

// rng.normal(size=count), in float32.
Matrix normal(qkv::random::Generator& rng, std::size_t count) {
  std::vector<double> numbers(count);
  rng.normal(numbers);
  return {numbers.begin(), numbers.end()};
}

// attention(X @ Wq, X @ Wk, X @ Wv)[0]
Matrix self_attention(const Matrix& x, const Matrix (&w)[3]) {
  const auto project = [&](const Matrix& weights) {
    return qkv::matmul({x.data(), {5, 4}}, {weights.data(), {4, 4}});
  };
  const qkv::Tensor out = qkv::attention({project(w[0]), project(w[1]), project(w[2])});
  return {out.data<float>(), out.data<float>() + out.size()};
}

// X[perm]
Matrix reorder(const Matrix& x, const std::vector<int>& perm) {
  Matrix out;
  for (int row : perm) out.insert(out.end(), x.begin() + 4 * row, x.begin() + 4 * row + 4);
  return out;
}

// np.allclose(a, b)
bool all_close(const Matrix& a, const Matrix& b) {
  for (std::size_t n = 0; n < a.size(); ++n) {
    if (!(std::abs(a[n] - b[n]) <= 1e-8f + 1e-5f * std::abs(b[n]))) return false;
  }
  return true;
}

}  // namespace

int main() {
  // The worked example: one query, three keys and values.
  const Matrix q = {1, 2};
  const Matrix k = {1, 0, 0, 1, 1, 1};
  const Matrix v = {10, 0, 0, 10, 5, 5};
  Matrix out(2), weights(3);
  qkv::AttentionOutputs outputs;
  outputs.out = {out.data(), {1, 2}};
  outputs.weights = {weights.data(), {1, 3}};
  qkv::attention({{q.data(), {1, 2}}, {k.data(), {3, 2}}, {v.data(), {3, 2}}}, outputs);
  std::printf("%s %s\n", numpy_string(weights.data(), 1, 3, 3).c_str(),
              numpy_string(out.data(), 1, 2, 2).c_str());

  // Self-attention: 5 tokens with 4 numbers each, as the rows of X.
  qkv::random::Generator rng(0);
  const Matrix x = normal(rng, 5 * 4);
  const Matrix w[3] = {normal(rng, 16), normal(rng, 16), normal(rng, 16)};
  const std::vector<int> perm = {3, 0, 4, 1, 2};  // a new order for the tokens
  const bool same =
      all_close(reorder(self_attention(x, w), perm), self_attention(reorder(x, perm), w));
  std::printf("%s\n", same ? "True" : "False");
}
