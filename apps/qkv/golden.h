// The fixed problems of `qkv verify`, and the hashes that their results must have.
#ifndef QKV_APPS_QKV_GOLDEN_H_
#define QKV_APPS_QKV_GOLDEN_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "qkv/attention.h"

namespace qkv::app {

// Inputs are whole numbers of a power of two, drawn by a generator seeded with the problem's index,
// so they are the same bits on every machine.
struct GoldenProblem {
  std::string_view name;
  AttentionInputs inputs;
  AttentionOptions options;
  AttentionOutputs outputs;    // out and lse, and weights where the problem has them
  std::vector<Tensor> memory;  // what all of the above look at
};

int golden_count();
GoldenProblem golden_problem(int index);

// FNV-1a with 64 bits over the bytes of out, lse and weights.
std::uint64_t hash_of(const AttentionOutputs& outputs);

// Made by make_golden from the scalar program `exact`; one a problem, in the same order.
struct GoldenHash {
  std::string_view name;
  std::uint64_t hash;
};
std::span<const GoldenHash> golden_hashes();

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_GOLDEN_H_
