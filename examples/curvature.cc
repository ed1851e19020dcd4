// How sharply a loss bends: the largest curvature of loss(q) = |attention(q, k, v) - target|^2 / 2
// in the queries, by power iteration with Hessian-vector products. No Hessian is ever made: each
// product costs about as much as four calls for gradients, and memory that grows with n.
// Prints the curvature, and what differences of gradients say of the same direction:
//   41 steps: 2.7334 (2.7332)
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "qkv/attention.h"
#include "qkv/gradient.h"
#include "qkv/random.h"
#include "qkv/tangent.h"

namespace {

constexpr std::int64_t kTokens = 24, kColumns = 8;
using Numbers = std::vector<float>;

Numbers normal(qkv::random::Generator& rng) {
  Numbers numbers(kTokens * kColumns);
  for (float& x : numbers) x = static_cast<float>(rng.normal());
  return numbers;
}

qkv::TensorView view(const Numbers& x) { return {x.data(), {1, 1, kTokens, kColumns}}; }
Numbers numbers_of(const qkv::Tensor& x) { return {x.data<float>(), x.data<float>() + x.size()}; }

double dot(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n) sum += double{a[n]} * double{b[n]};
  return sum;
}

struct Loss {
  Numbers q, k, v, target;

  // d_out = out - target.
  Numbers d_out(const Numbers& queries) const {
    Numbers d = numbers_of(qkv::attention({view(queries), view(k), view(v)}));
    for (std::size_t n = 0; n < d.size(); ++n) d[n] -= target[n];
    return d;
  }
  qkv::GradientInputs inputs(const Numbers& queries, const Numbers& d_out) const {
    qkv::GradientInputs in;
    in.query = view(queries);
    in.key = view(k);
    in.value = view(v);
    in.d_out = view(d_out);
    return in;
  }
  Numbers gradient(const Numbers& queries) const {
    const Numbers d = d_out(queries);
    return numbers_of(qkv::attention_gradients(inputs(queries, d)).d_query);
  }
  // The Hessian times a direction.
  Numbers hessian_times(const Numbers& direction) const {
    const Numbers d = d_out(q);
    qkv::Tangents tangents;
    tangents.query = view(direction);
    // d_out moves as out does, since the target stays.
    const qkv::Tensor out_moves = qkv::attention_tangents(inputs(q, d), tangents);
    tangents.d_out = out_moves;
    return numbers_of(qkv::attention_gradient_tangents(inputs(q, d), tangents).d_query);
  }
};

}  // namespace

int main() {
  qkv::random::Generator rng(0);
  Loss loss;
  for (Numbers* x : {&loss.q, &loss.k, &loss.v, &loss.target}) *x = normal(rng);
  Numbers direction = normal(rng);
  double curvature = 0;
  int steps = 0;
  for (bool settled = false; !settled; ++steps) {
    const double length = std::sqrt(dot(direction, direction));
    for (float& x : direction) x = static_cast<float>(double{x} / length);
    const Numbers product = loss.hessian_times(direction);
    const double before = curvature;
    curvature = dot(direction, product);
    settled = std::abs(curvature - before) < 1e-4 * std::abs(curvature);
    if (!settled) direction = product;
  }
  // The same by central differences.
  constexpr float kStep = 1e-2f;
  Numbers ahead = loss.q, behind = loss.q;
  for (std::size_t n = 0; n < direction.size(); ++n) {
    ahead[n] += kStep * direction[n];
    behind[n] -= kStep * direction[n];
  }
  const double difference =
      dot(direction, loss.gradient(ahead)) - dot(direction, loss.gradient(behind));
  std::printf("%d steps: %.4f (%.4f)\n", steps, curvature, difference / (2.0 * double{kStep}));
  return 0;
}
