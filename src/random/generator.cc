#include <array>
#include <bit>
#include <cstddef>
#include <numeric>
#include <utility>

#include "qkv/random.h"
#include "random/double_math.h"
#include "random/seed_sequence.h"
#include "random/ziggurat_tables.h"

namespace qkv::random {
namespace {

// A GNU type, also on 32-bit targets of clang; __extension__ keeps -Wpedantic quiet about it.
__extension__ using Wide = unsigned __int128;

constexpr Wide wide(std::uint64_t high, std::uint64_t low) { return (Wide{high} << 64) | low; }
constexpr std::uint64_t high_half(Wide x) { return static_cast<std::uint64_t>(x >> 64); }
constexpr std::uint64_t low_half(Wide x) { return static_cast<std::uint64_t>(x); }

// PCG64: a 128-bit linear congruential generator (O'Neill, "PCG: A Family of Simple Fast
// Space-Efficient Statistically Good Algorithms for Random Number Generation", 2014).
constexpr Wide kMultiplier = wide(0x2360ed051fc65da4, 0x4385df649fccf645);

constexpr std::uint64_t kMax32 = 0xffffffff;

// A double in [0, 1) from the upper 53 bits.
double to_unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

Generator::Generator(std::uint64_t seed) {
  // The words of the number, the lower one first. (A zero word at the end changes nothing.)
  const std::uint32_t words[] = {static_cast<std::uint32_t>(seed),
                                 static_cast<std::uint32_t>(seed >> 32)};
  *this = Generator(words);
}

Generator::Generator(std::span<const std::uint32_t> entropy) {
  const std::array<std::uint64_t, 4> seed = SeedSequence(entropy).generate();
  const Wide increment = (wide(seed[2], seed[3]) << 1) | 1;  // odd: the period is 2^128
  const Wide state = (increment + wide(seed[0], seed[1])) * kMultiplier + increment;
  state_[0] = low_half(state);
  state_[1] = high_half(state);
  increment_[0] = low_half(increment);
  increment_[1] = high_half(increment);
}

std::uint64_t Generator::next64() {
  const Wide state = wide(state_[1], state_[0]) * kMultiplier + wide(increment_[1], increment_[0]);
  state_[0] = low_half(state);
  state_[1] = high_half(state);
  // XSL-RR: fold the halves, then rotate by the upper six bits.
  return std::rotr(state_[1] ^ state_[0], static_cast<int>(state_[1] >> 58));
}

std::uint32_t Generator::next32() {
  if (has_uint32_) {
    has_uint32_ = false;
    return uint32_;
  }
  const std::uint64_t bits = next64();
  has_uint32_ = true;
  uint32_ = static_cast<std::uint32_t>(bits >> 32);
  return static_cast<std::uint32_t>(bits);
}

double Generator::random() { return to_unit(next64()); }

void Generator::random(std::span<double> out) {
  for (double& number : out) number = random();
}

// One draw of 64 bits: the layer (8), the sign (1), the place in the layer (52).
double Generator::standard_normal() {
  for (;;) {
    const std::uint64_t bits = next64();
    const std::size_t layer = bits & 0xff;
    const bool negative = ((bits >> 8) & 1) != 0;
    const std::uint64_t place = (bits >> 9) & 0xfffffffffffff;
    const double distance = static_cast<double>(place) * kUnit[layer];
    const double x = negative ? -distance : distance;
    if (place < kAcceptBelow[layer]) return x;  // 98.8 % of the draws
    if (layer > 0) {
      // The wedge between the rectangle and the curve.
      const double y = (kDensity[layer - 1] - kDensity[layer]) * random() + kDensity[layer];
      if (y < exp_nonpositive(-0.5 * x * x)) return x;
      continue;
    }
    // The tail beyond r: Marsaglia's method. Its sign is another bit than the sign above.
    for (;;) {
      const double beyond = -kInverseTailStart * log_of_complement(random());
      const double level = -log_of_complement(random());
      if (level + level <= beyond * beyond) continue;
      const double tail = kTailStart + beyond;
      return ((place >> 8) & 1) != 0 ? -tail : tail;
    }
  }
}

double Generator::normal(double mean, double deviation) {
  return mean + deviation * standard_normal();
}

void Generator::normal(std::span<double> out, double mean, double deviation) {
  for (double& number : out) number = normal(mean, deviation);
}

// Lemire, "Fast Random Integer Generation in an Interval", 2019: the upper half of count * draw,
// drawn again if the lower half is below 2^bits mod count. Counts to 2^32 take 32-bit draws.
std::int64_t Generator::integers(std::int64_t low, std::int64_t high) {
  if (low >= high) return low;
  const std::uint64_t count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  std::uint64_t offset = 0;
  if (count == 1) {
    offset = 0;  // without a draw, as in NumPy
  } else if (count == kMax32 + 1) {
    offset = next32();
  } else if (count <= kMax32) {
    const std::uint32_t rejected =
        (0 - static_cast<std::uint32_t>(count)) % static_cast<std::uint32_t>(count);
    std::uint64_t product = 0;
    do {
      product = next32() * count;
    } while (static_cast<std::uint32_t>(product) < rejected);
    offset = product >> 32;
  } else {
    const std::uint64_t rejected = (0 - count) % count;
    Wide product = 0;
    do {
      product = Wide{next64()} * count;
    } while (low_half(product) < rejected);
    offset = high_half(product);
  }
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

void Generator::integers(std::span<std::int64_t> out, std::int64_t low, std::int64_t high) {
  for (std::int64_t& number : out) number = integers(low, high);
}

// Fisher and Yates from the end. NumPy shuffles by masks and rejection, not by Lemire's method.
std::vector<std::int64_t> Generator::permutation(std::int64_t n) {
  if (n < 0) n = 0;
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::uint64_t last = static_cast<std::uint64_t>(n); last-- > 1;) {
    const std::uint64_t mask = std::bit_ceil(last + 1) - 1;
    std::uint64_t chosen = 0;
    do {
      chosen = (last <= kMax32 ? next32() : next64()) & mask;
    } while (chosen > last);
    std::swap(numbers[static_cast<std::size_t>(last)], numbers[static_cast<std::size_t>(chosen)]);
  }
  return numbers;
}

}  // namespace qkv::random
