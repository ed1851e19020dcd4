// Which arithmetic this library promises. A result is determined by the inputs, the options and
// the contract's version alone; see docs/arithmetic.md.
#ifndef QKV_CONTRACT_H_
#define QKV_CONTRACT_H_

#include <cstdint>
#include <string_view>

namespace qkv {

struct Contract {
  std::string_view name;  // "A"
  int version;            // changes when a bit changes
  std::int64_t block;     // keys whose weights are summed before they join the running sum
  std::int64_t span;      // keys summed in one chain of blocks; spans merge as a binary tree
  std::int64_t group;     // terms of one fused chain of a dot product
};

// Contract A: float32, and float16 and bfloat16 widened to it.
Contract contract();

// "1.0.0". A change of bits is a major version.
std::string_view version();

}  // namespace qkv

#endif  // QKV_CONTRACT_H_
