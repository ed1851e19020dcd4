#include "inspect/saturation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "simd/float_environment.h"

namespace qkv {
namespace {

Status refuse(const std::string& what, double weight) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.9g", weight);
  return invalid_argument(what + " is " + text.data() +
                          ", which is no weight; pass numbers between 0 and 1");
}

bool is_weight(double weight) { return weight >= 0 && weight <= 1; }

}  // namespace

// |J|^2 = sum of p_i^2 (1 - p_i)^2, and of p_i^2 p_j^2 over i != j. All terms are added, none
// subtracted. With M the largest weight and R the sum of all others, sink included, 1 - p_i is R +
// (M - p_i).
Status compute_jacobian_norm(std::span<const float> weights, double sink_weight, double& norm) {
  const FloatEnvironment environment;  // a NaN must not trap
  if (!is_weight(sink_weight)) return refuse("sink_weight:", sink_weight);
  std::size_t largest = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!is_weight(weights[i])) return refuse("weights: entry " + std::to_string(i), weights[i]);
    if (weights[i] > weights[largest]) largest = i;
  }
  double rest = sink_weight;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (i != largest) rest += double{weights[i]};
  }
  double diagonal = 0, squares = 0, pairs = 0;  // squares: of the weights before i
  for (float weight : weights) {
    const double p = weight, others = rest + (double{weights[largest]} - p);
    const double square = p * p;
    diagonal += square * (others * others);
    pairs += square * squares;
    squares += square;
  }
  norm = std::sqrt(diagonal + 2 * pairs);
  return {};
}

}  // namespace qkv
