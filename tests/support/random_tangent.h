// Random problems of tangents: those of random_gradient.h, with directions.
#ifndef QKV_TESTS_SUPPORT_RANDOM_TANGENT_H_
#define QKV_TESTS_SUPPORT_RANDOM_TANGENT_H_

#include "problem/tangent_problem.h"
#include "support/random_gradient.h"

namespace qkv::test {

class RandomTangent : public RandomGradient {
 public:
  RandomTangent(std::uint64_t seed, const Limits& limits);

  // Of attention, and of its gradients, which are those of a problem without score_mod. Validated.
  const TangentProblem& of_attention() const { return of_attention_; }
  const TangentProblem& of_gradients() const { return of_gradients_; }

 private:
  void draw_directions();
  TensorView direction(const char* name, const TensorView& like);

  Tangents tangents_;
  TangentProblem of_attention_, of_gradients_;
};

}  // namespace qkv::test

#endif  // QKV_TESTS_SUPPORT_RANDOM_TANGENT_H_
