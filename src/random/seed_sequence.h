// NumPy's SeedSequence: entropy of any length, hashed into the seed of a generator.
#ifndef QKV_SRC_RANDOM_SEED_SEQUENCE_H_
#define QKV_SRC_RANDOM_SEED_SEQUENCE_H_

#include <array>
#include <cstdint>
#include <span>

namespace qkv::random {

class SeedSequence {
 public:
  explicit SeedSequence(std::span<const std::uint32_t> entropy);

  // generate_state(4, np.uint64)
  std::array<std::uint64_t, 4> generate() const;

 private:
  std::array<std::uint32_t, 4> pool_;
};

}  // namespace qkv::random

#endif  // QKV_SRC_RANDOM_SEED_SEQUENCE_H_
