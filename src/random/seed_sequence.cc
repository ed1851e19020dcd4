#include "random/seed_sequence.h"

#include <cstddef>

// O'Neill, "Developing a seed_seq Alternative", 2015 (the constants are hers): a multiplicative
// hash whose multiplier changes from call to call, and a mixing of two words.
namespace qkv::random {
namespace {

class Hash {
 public:
  Hash(std::uint32_t start, std::uint32_t step) : multiplier_(start), step_(step) {}

  std::uint32_t operator()(std::uint32_t word) {
    word ^= multiplier_;
    multiplier_ *= step_;
    word *= multiplier_;
    return word ^ (word >> 16);
  }

 private:
  std::uint32_t multiplier_;
  std::uint32_t step_;
};

std::uint32_t mix(std::uint32_t x, std::uint32_t y) {
  const std::uint32_t word = 0xca01f9dd * x - 0x4973f715 * y;
  return word ^ (word >> 16);
}

}  // namespace

SeedSequence::SeedSequence(std::span<const std::uint32_t> entropy) {
  Hash hash(0x43b0d7e5, 0x931e8875);
  for (std::size_t i = 0; i < pool_.size(); ++i) {
    pool_[i] = hash(i < entropy.size() ? entropy[i] : 0);
  }
  // Every word of the pool reaches every other one.
  for (std::size_t from = 0; from < pool_.size(); ++from) {
    for (std::size_t to = 0; to < pool_.size(); ++to) {
      if (from != to) pool_[to] = mix(pool_[to], hash(pool_[from]));
    }
  }
  for (std::size_t i = pool_.size(); i < entropy.size(); ++i) {
    for (std::uint32_t& word : pool_) word = mix(word, hash(entropy[i]));
  }
}

std::array<std::uint64_t, 4> SeedSequence::generate() const {
  Hash hash(0x8b51f9dd, 0x58f38ded);
  std::array<std::uint64_t, 4> state{};
  for (std::size_t i = 0; i < 2 * state.size(); ++i) {
    const std::uint64_t word = hash(pool_[i % pool_.size()]);
    state[i / 2] |= word << (32 * (i % 2));  // the lower half first
  }
  return state;
}

}  // namespace qkv::random
