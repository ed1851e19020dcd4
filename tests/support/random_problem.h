// Random attention problems that draw every option jointly, for the accuracy and the bit tests.
#ifndef QKV_TESTS_SUPPORT_RANDOM_PROBLEM_H_
#define QKV_TESTS_SUPPORT_RANDOM_PROBLEM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/reference/reference.h"
#include "problem/problem.h"
#include "qkv/random.h"

namespace qkv::test {

// How large problems are, and how wild their numbers.
struct Limits {
  std::vector<std::int64_t> query_lengths, key_lengths, sizes;  // sizes: d_qk and d_v
  int max_batch = 3;
  bool special_values = true;  // NaN, Inf, -0, subnormals, huge scores
};

Limits small_limits();          // every edge of tiles and blocks; a few keys to a few blocks
Limits span_crossing_limits();  // at least two spans of keys, few queries

// A problem with the memory it lives in, the same for a seed by any compiler and on any machine:
// one expression draws one number, since the order within an expression is open. Outputs have gaps
// and are filled with a pattern, so that a write beside the view shows in a comparison of whole
// buffers.
class RandomProblem {
 public:
  RandomProblem(std::uint64_t seed, const Limits& limits);
  RandomProblem(const RandomProblem&) = delete;

  const Problem& problem() const { return problem_; }  // validated
  const reference::ScoreMod64& score_mod64() const { return score_mod64_; }
  const reference::ScoreMod64& score_mod_derivative64() const { return derivative64_; }

  // Fills the outputs with the pattern again.
  void clear_outputs();
  // Every byte of the output buffers.
  std::vector<std::byte> output_bytes() const;
  // The levels drawn: {"mask", "bool"}, ... for the coverage table and for failure messages.
  const std::map<std::string, std::string>& levels() const { return levels_; }
  std::string description() const;
  std::uint64_t seed() const { return seed_; }

 protected:
  std::int64_t pick(std::int64_t count) { return generator_.integers(0, count); }
  std::int64_t pick(const std::vector<std::int64_t>& from) {
    return from[static_cast<std::size_t>(pick(static_cast<std::int64_t>(from.size())))];
  }
  bool seldom() { return pick(12) == 0; }
  // Draws one of `names`, notes it under `factor` and returns its index.
  int level(const std::string& factor, const std::vector<std::string>& names);
  MutableTensorView new_tensor(DType dtype, std::vector<std::int64_t> shape, int layout);
  // The tensor made last is an output.
  void note_output() { outputs_.push_back(memory_.size() - 1); }
  void forget_outputs() { outputs_.clear(); }
  void fill(const MutableTensorView& view, double deviation, int special, double spread);

 private:
  std::int64_t random_offset();
  void draw_shapes(const Limits& limits);
  void draw_inputs(const Limits& limits);
  void draw_lengths();
  void draw_positions();
  void draw_masks();
  void draw_scores();
  void draw_outputs();

  std::uint64_t seed_;
  random::Generator generator_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> memory_;
  std::vector<std::size_t> outputs_;  // indices into memory_
  std::map<std::string, std::string> levels_;
  Problem problem_;
  reference::ScoreMod64 score_mod64_, derivative64_;
  std::int64_t batch_ = 1, query_heads_ = 1, key_heads_ = 1, queries_ = 1, keys_ = 1, d_qk_ = 1,
               d_v_ = 1;
  bool packed_ = false;
};

// Pairwise coverage: how many pairs of levels of different factors occurred together.
class Coverage {
 public:
  void add(const std::map<std::string, std::string>& levels);
  // A table factor by factor: pairs seen of pairs possible, and the pairs that are missing.
  std::string table() const;
  double share() const;

 private:
  std::map<std::string, std::map<std::string, int>> seen_;  // factor -> level -> count
  std::map<std::pair<std::string, std::string>, int> pairs_;
};

}  // namespace qkv::test

#endif  // QKV_TESTS_SUPPORT_RANDOM_PROBLEM_H_
