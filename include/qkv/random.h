// The numbers of NumPy's default_rng(seed): SeedSequence, PCG64 and the ziggurat, bit for bit.
#ifndef QKV_RANDOM_H_
#define QKV_RANDOM_H_

#include <cstdint>
#include <span>
#include <vector>

namespace qkv::random {

// np.random.default_rng(seed). Calls draw from one stream, in the order they are made, and give the
// doubles and integers that NumPy 1.17 and later give for the same calls.
class Generator {
 public:
  explicit Generator(std::uint64_t seed);
  // default_rng([e0, e1, ...]): 32-bit words of entropy.
  explicit Generator(std::span<const std::uint32_t> entropy);

  double random();                                        // uniform in [0, 1)
  void random(std::span<double> out);                     // rng.random(n)
  double normal(double mean = 0.0, double deviation = 1.0);
  void normal(std::span<double> out, double mean = 0.0, double deviation = 1.0);
  // rng.integers(low, high): uniform in [low, high), int64. low < high.
  std::int64_t integers(std::int64_t low, std::int64_t high);
  void integers(std::span<std::int64_t> out, std::int64_t low, std::int64_t high);
  // rng.permutation(n): the numbers 0 to n - 1 shuffled.
  std::vector<std::int64_t> permutation(std::int64_t n);

 private:
  std::uint64_t next64();
  std::uint32_t next32();
  double standard_normal();

  std::uint64_t state_[2];      // low, high half of the 128-bit state
  std::uint64_t increment_[2];  // likewise
  bool has_uint32_ = false;     // a 64-bit draw gives two 32-bit ones; the second waits here
  std::uint32_t uint32_ = 0;
};

}  // namespace qkv::random

#endif  // QKV_RANDOM_H_
