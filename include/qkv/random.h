// The numbers of NumPy's default_rng(seed): SeedSequence, PCG64 and the ziggurat, bit for bit.
#ifndef QKV_RANDOM_H_
#define QKV_RANDOM_H_

#include <cstdint>
#include <span>
#include <vector>

namespace qkv::random {

// np.random.default_rng(seed). Calls draw from one stream, in the order they are made, and give the
// doubles and integers that NumPy gives for the same calls, whatever the machine.
//
// NumPy's own normal numbers depend on its C library in the last bit of those beyond 3.654, one in
// 4000. These are NumPy's (1.21 and later) with glibc on a processor with FMA: equal in every bit
// of 2 * 10^8 compared. Without FMA, NumPy itself differs from them by one bit in one number in
// about 10^8; with a correctly rounding C library in about one in 10^6.
//
// No call fails: arguments outside of what is stated have the result stated. Callers validate.
class Generator {
 public:
  explicit Generator(std::uint64_t seed);
  // default_rng([e0, e1, ...]): 32-bit words of entropy.
  explicit Generator(std::span<const std::uint32_t> entropy);

  double random();                     // uniform in [0, 1)
  void random(std::span<double> out);  // rng.random(n)
  double normal(double mean = 0.0, double deviation = 1.0);
  void normal(std::span<double> out, double mean = 0.0, double deviation = 1.0);
  // rng.integers(low, high): uniform in [low, high), int64. low >= high gives low, without a draw.
  std::int64_t integers(std::int64_t low, std::int64_t high);
  void integers(std::span<std::int64_t> out, std::int64_t low, std::int64_t high);
  // rng.permutation(n): the numbers 0 to n - 1 shuffled. n < 0 gives none, like 0. Needs 8 n bytes.
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
