#include "lesson_text.h"

#include <fmt/core.h>

#include <cmath>
#include <span>
#include <vector>

#include "command.h"
#include "qkv/attention.h"
#include "qkv/matmul.h"
#include "qkv/positions.h"
#include "qkv/random.h"
#include "qkv/saturation.h"
#include "qkv/steps.h"
#include "terminal.h"

namespace qkv::app {
namespace {

// A small matrix, row by row.
struct Matrix {
  std::int64_t rows, columns;
  std::vector<float> data;

  Matrix(std::int64_t r, std::int64_t c, std::vector<float> values)
      : rows(r), columns(c), data(std::move(values)) {}
  explicit Matrix(const Tensor& t)
      : Matrix(t.extent(0), t.extent(1), {t.data<float>(), t.data<float>() + t.size()}) {}

  TensorView view() const { return {data.data(), {rows, columns}}; }
  std::span<const float> row(std::int64_t r) const {
    return std::span(data).subspan(static_cast<std::size_t>(r * columns),
                                   static_cast<std::size_t>(columns));
  }
};

Matrix operator*(const Matrix& a, const Matrix& b) { return Matrix(matmul(a.view(), b.view())); }

Matrix with_rows(const Matrix& m, std::initializer_list<std::int64_t> order) {
  Matrix result{0, m.columns, {}};
  for (std::int64_t r : order) {
    const std::span<const float> row = m.row(r);
    result.data.insert(result.data.end(), row.begin(), row.end());
    ++result.rows;
  }
  return result;
}

struct Attended {
  Matrix out, weights;
};

Attended attend_to(const Matrix& q, const Matrix& k, const Matrix& v,
                   const AttentionOptions& options = {}) {
  Attended result{{q.rows, v.columns, std::vector<float>(q.rows * v.columns)},
                  {q.rows, k.rows, std::vector<float>(q.rows * k.rows)}};
  AttentionOutputs outputs;
  outputs.out = {result.out.data.data(), {q.rows, v.columns}};
  outputs.weights = {result.weights.data.data(), {q.rows, k.rows}};
  attention({q.view(), k.view(), v.view()}, outputs, options);
  return result;
}

// Softmax of a row of scores, by attention with a query of 1.
std::vector<float> softmax(const std::vector<float>& scores) {
  const auto n = static_cast<std::int64_t>(scores.size());
  AttentionOptions options;
  options.scale = 1.0;
  return attend_to({1, 1, {1}}, {n, 1, scores}, {n, 1, std::vector<float>(scores.size())}, options)
      .weights.data;
}

std::string text_of(std::span<const float> row, int digits) {
  std::string text;
  for (float x : row) text += fmt::format("{}{:.{}f}", text.empty() ? "[" : ", ", x, digits);
  return text + "]";
}

float largest_difference(const Matrix& a, const Matrix& b) {
  float largest = 0;
  for (std::size_t n = 0; n < a.data.size(); ++n) {
    largest = std::max(largest, std::abs(a.data[n] - b.data[n]));
  }
  return largest;
}

Matrix normal(random::Generator& generator, std::int64_t rows, std::int64_t columns,
              double deviation = 1.0) {
  std::vector<double> numbers(static_cast<std::size_t>(rows * columns));
  generator.normal(numbers, 0.0, deviation);
  return {rows, columns, {numbers.begin(), numbers.end()}};
}

const Matrix kKeys{3, 2, {1, 0, 0, 1, 1, 1}};
const Matrix kValues{3, 2, {10, 0, 0, 10, 5, 5}};

// ---- The sections -------------------------------------------------------------------------------

void dot() {
  const Matrix q{1, 2, {1, 2}}, k{2, 1, {1, 1}};
  fmt::print("  [1, 2] . [1, 1] = 1 x 1 + 2 x 1 = {:g}\n\n", (q * k).data[0]);
  fmt::print("  With [1, 2] fixed:\n");
  const std::pair<const char*, Matrix> others[] = {{"same way", {2, 1, {1, 2}}},
                                                   {"right angle", {2, 1, {2, -1}}},
                                                   {"apart", {2, 1, {-1, -2}}},
                                                   {"twice as long", {2, 1, {2, 4}}}};
  for (const auto& [name, other] : others) {
    fmt::print("  {:<14} . {:<8} = {:g}\n", name, text_of(other.data, 0), (q * other).data[0]);
  }
  fmt::print("\n  A matrix times a vector is a dot product for each row:\n");
  const Matrix product = kKeys * Matrix{2, 1, {1, 2}};
  for (std::int64_t r = 0; r < 3; ++r) {
    fmt::print("  {} . [1, 2] = {:g}\n", text_of(kKeys.row(r), 0), product.data[r]);
  }
}

void print_steps(const RowSteps& steps) {
  fmt::print("  token   q . k   scaled   exp(s - max)   weight\n");
  for (const KeyStep& key : steps.keys) {
    fmt::print("  {:>5}   {:5.2f}   {:6.3f}   {:12.3f}   {:6.3f}\n", key.key + 1, key.dot,
               key.score, key.block_exp, key.weight);
  }
  fmt::print("  sum of exp: {:.3f}\n", steps.final_state.sum);
}

void turn() {
  const Matrix q{1, 2, {1, 2}};
  fmt::print(
      "  q = [1, 2], keys [1, 0], [0, 1], [1, 1], values [10, 0], [0, 10], [5, 5], d_k = 2\n\n");
  const RowSteps steps = row_steps({q.view(), kKeys.view(), kValues.view()}, {});
  print_steps(steps);
  fmt::print("\n  result = ");
  for (const KeyStep& key : steps.keys) {
    fmt::print("{}{:.3f} x {}", key.key == 0 ? "" : " + ", key.weight,
               text_of(kValues.row(key.row), 0));
  }
  fmt::print(" = {}\n", text_of(steps.out, 2));
}

// The page's figure as it starts (web/lesson/start/figure.ts).
void figure() {
  const Matrix keys{4, 2, {2.4f, -0.4f, -0.4f, 2.4f, -1.6f, -1.4f, 0.9f, 0.5f}};
  const Matrix values{4, 2, {-1.8f, 2, 2.2f, 1.6f, 1.9f, -1.5f, -1.4f, -2.1f}};
  fmt::print("  Four tokens, A to D, and the query [1.6, 0.7], shorter and longer:\n\n");
  fmt::print("  times       A      B      C      D   result\n");
  for (float times : {0.0f, 0.5f, 1.0f, 2.0f, 8.0f}) {
    const Attended seen = attend_to({1, 2, {1.6f * times, 0.7f * times}}, keys, values);
    fmt::print("  {:>5g}", times);
    for (float weight : seen.weights.data) fmt::print("  {:.3f}", weight);
    fmt::print("   {}\n", text_of(seen.out.data, 2));
  }
  fmt::print(
      "\n  A query of 0 averages the values. A longer one picks the key with the longest shadow "
      "on\n"
      "  it more and more sharply: A. D's key is the nearest to the query, but it lies between "
      "the\n"
      "  other keys and can never win.\n");
}

struct Listing {
  Matrix x, wq, wk, wv;
};

// X and the weights of attention.py, from default_rng(0).
Listing listing() {
  random::Generator generator(0);
  Matrix x = normal(generator, 5, 4), wq = normal(generator, 4, 4), wk = normal(generator, 4, 4);
  return {std::move(x), std::move(wq), std::move(wk), normal(generator, 4, 4)};
}

Matrix self_attention(const Listing& l, const Matrix& x, const AttentionOptions& options = {}) {
  return attend_to(x * l.wq, x * l.wk, x * l.wv, options).out;
}

void tokens() {
  const Listing l = listing();
  const Attended seen = attend_to(l.x * l.wq, l.x * l.wk, l.x * l.wv);
  fmt::print(
      "  5 tokens of 4 numbers and three 4 x 4 matrices, from np.random.default_rng(0).\n"
      "  Q = X Wq, K = X Wk, V = X Wv; each row of the weights adds up to 1:\n\n");
  for (std::int64_t r = 0; r < 5; ++r) {
    float sum = 0;
    for (float weight : seen.weights.row(r)) sum += weight;
    fmt::print("  {}  sum {:.3f}\n", text_of(seen.weights.row(r), 3), sum);
  }
}

void scale() {
  random::Generator generator(0);
  constexpr std::int64_t kPairs = 10000, kSize = 64;
  const Matrix q = normal(generator, kPairs, kSize), k = normal(generator, kPairs, kSize);
  const Tensor dots =
      matmul({q.data.data(), {kPairs, 1, kSize}}, {k.data.data(), {kPairs, kSize, 1}});
  double mean = 0, square = 0;
  for (std::int64_t n = 0; n < kPairs; ++n) mean += dots.data<float>()[n] / double{kPairs};
  for (std::int64_t n = 0; n < kPairs; ++n) {
    square += (dots.data<float>()[n] - mean) * (dots.data<float>()[n] - mean) / double{kPairs};
  }
  fmt::print(
      "  spread of 10,000 dot products of 64 random numbers: {:.2f}, divided by 8: {:.2f}\n\n",
      std::sqrt(square), std::sqrt(square) / 8);
  for (const std::vector<float>& scores : {std::vector<float>{8, 0, -8}, {1, 0, -1}}) {
    const std::vector<float> weights = softmax(scores);
    const int digits = scores[0] > 1 ? 5 : 3;
    std::string shown;
    for (float weight : weights) {
      // Enough digits for the smallest, 1e-7, to be seen.
      shown +=
          fmt::format("{}{:.{}f}", shown.empty() ? "[" : ", ", weight, weight < 1e-5f ? 7 : digits);
    }
    std::vector<float> nudged = scores;
    nudged[1] += 0.1f;
    fmt::print("  softmax of {:<10} = {}]\n", text_of(scores, 0), shown);
    fmt::print(
        "    its Jacobian has the norm {:.6f}; 0.1 more in the middle moves that weight by "
        "{:.7f}\n",
        softmax_jacobian_norm(weights), softmax(nudged)[1] - weights[1]);
  }
}

void set() {
  const Listing l = listing();
  const auto order = {3l, 0l, 4l, 1l, 2l};
  const auto difference = [&](const Matrix& shuffled_in, const AttentionOptions& options) {
    return largest_difference(with_rows(self_attention(l, l.x, options), order),
                              self_attention(l, shuffled_in, options));
  };
  AttentionOptions causal;
  causal.causal = true;
  fmt::print(
      "  Tokens shuffled to 3, 0, 4, 1, 2. Largest difference between the outputs shuffled and\n"
      "  the outputs of the shuffled tokens:\n\n");
  fmt::print("  without positions      {:.2g}\n", difference(with_rows(l.x, order), {}));
  fmt::print("  with a causal mask     {:.2g}\n", difference(with_rows(l.x, order), causal));
  const Matrix positions(sinusoidal_positions(0, 5, 4));
  Matrix placed = l.x, placed_after = with_rows(l.x, order);
  for (std::size_t n = 0; n < placed.data.size(); ++n) {
    placed.data[n] += positions.data[n];
    placed_after.data[n] += positions.data[n];
  }
  fmt::print("  with positions added   {:.2g}\n",
             largest_difference(with_rows(self_attention(l, placed), order),
                                self_attention(l, placed_after)));
}

// The page's tokens as they start (web/lesson/start/heads.ts): a colour, in the first two numbers,
// and a shape, in the others. Queries are three times as long.
void heads() {
  const Matrix x{6, 4, {1,     0,      0,      1,     1,     0,      -0.87f, -0.5f,
                        -0.5f, 0.87f,  0,      1,     -0.5f, 0.87f,  0.87f,  -0.5f,
                        -0.5f, -0.87f, -0.87f, -0.5f, -0.5f, -0.87f, 0.87f,  -0.5f}};
  const Matrix all{4, 4, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
  const Matrix colour{4, 2, {1, 0, 0, 1, 0, 0, 0, 0}}, shape{4, 2, {0, 0, 0, 0, 1, 0, 0, 1}};
  fmt::print(
      "  A blue circle, B blue square, C orange circle, D orange triangle, E green square,\n"
      "  F green triangle. What A looks at:\n\n                          A      B      C      D    "
      "  E      F\n");
  const auto weights = [&](const Matrix& w) {
    const Matrix key = x * w;
    Matrix query = key;
    for (float& number : query.data) number *= 3;
    return text_of(attend_to(query, key, key).weights.row(0), 3);
  };
  fmt::print("  one head for both    {}\n", weights(all));
  fmt::print("  head 1, colour       {}\n  head 2, shape        {}\n\n", weights(colour),
             weights(shape));
  const std::int64_t one = 4 * 512 * 512, many = 8 * 3 * 512 * 64 + 512 * 512;
  fmt::print("  Parameters with tokens of 512: one head of 512 has {}, 8 heads of 64 have {}\n",
             one, many);
}

// The page's keys as they start (web/lesson/start/machine.ts).
void machine() {
  random::Generator generator(51);
  const Matrix q = normal(generator, 1, 8, 2.0), k = normal(generator, 128, 8),
               v = normal(generator, 128, 2);
  const RowSteps steps = row_steps({q.view(), k.view(), v.view()}, {});
  fmt::print(
      "  128 keys in blocks of 32. Each block may raise the maximum; then what was summed before\n"
      "  is multiplied by exp(old - new maximum):\n\n");
  fmt::print("  keys        max    factor       sum   accumulator\n");
  for (const BlockStep& block : steps.blocks) {
    fmt::print("  {:>3} - {:<3}  {:5.3f}   {:7.5f}  {:8.4f}   {}\n", block.first_key + 1,
               block.end_key, block.after.max, block.rescale, block.after.sum,
               text_of(block.after.accumulator, 3));
  }
  fmt::print("\n  accumulator / sum = {}\n", text_of(steps.out, 4));
}

struct Section {
  const char* name;
  const char* title;
  void (*print)();
};

constexpr Section kSections[] = {
    {"dot", "A dot product scores a match", dot},
    {"turn", "One token's turn: score, scale, softmax, weighted sum", turn},
    {"figure", "A longer query picks more sharply", figure},
    {"tokens", "All tokens at once", tokens},
    {"scale", "Dividing by sqrt(d_k)", scale},
    {"set", "A set of tokens", set},
    {"heads", "Several heads", heads},
    {"machine", "How the engine does it", machine},
};

void print_section(const Section& section) {
  fmt::print("{}\n\n", section.title);
  section.print();
}

}  // namespace

void print_lesson(const std::string& section) {
  if (section == "list") {
    for (const Section& s : kSections) fmt::print("{:<8} {}\n", s.name, s.title);
    return;
  }
  std::vector<std::string> names = {"all", "list"};
  bool first = true;
  for (const Section& s : kSections) {
    names.emplace_back(s.name);
    if (section != "all" && section != s.name) continue;
    if (!first) fmt::print("\n\n");
    first = false;
    print_section(s);
  }
  if (!first) return;
  const std::string meant = nearest(section, names);
  throw usage(
      "--text: there is no section " + in_quotes(section) +
      (meant.empty() ? "; `qkv lesson --text list` names them" : "; did you mean " + meant + "?"));
}

}  // namespace qkv::app
