// Random backward problems: those of random_problem.h, with what a backward pass takes and gives.
#ifndef QKV_TESTS_SUPPORT_RANDOM_GRADIENT_H_
#define QKV_TESTS_SUPPORT_RANDOM_GRADIENT_H_

#include "kernels/reference/gradient.h"
#include "problem/gradient_problem.h"
#include "support/random_problem.h"

namespace qkv::test {

Limits span_crossing_gradient_limits();  // more than a span of queries, of keys, or of both

class RandomGradient : public RandomProblem {
 public:
  RandomGradient(std::uint64_t seed, const Limits& limits);

  const GradientProblem& gradient() const { return gradient_; }  // validated
  reference::ScoreMods64 mods64() const { return {score_mod64(), score_mod_derivative64()}; }

 private:
  void draw_incoming();
  void draw_results();

  GradientProblem gradient_;
};

}  // namespace qkv::test

#endif  // QKV_TESTS_SUPPORT_RANDOM_GRADIENT_H_
