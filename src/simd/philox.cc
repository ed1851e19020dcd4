#include "simd/philox.h"

namespace qkv {

void philox(const std::uint32_t counter[4], std::uint64_t key, std::uint32_t word[4]) {
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  std::uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kPhiloxMultiplier0} * c0;
    const std::uint64_t product2 = std::uint64_t{kPhiloxMultiplier2} * c2;
    c0 = static_cast<std::uint32_t>(product2 >> 32) ^ c1 ^ key0;
    c1 = static_cast<std::uint32_t>(product2);
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ key1;
    c3 = static_cast<std::uint32_t>(product0);
    key0 += kPhiloxStep0;
    key1 += kPhiloxStep1;
  }
  word[0] = c0;
  word[1] = c1;
  word[2] = c2;
  word[3] = c3;
}

std::uint64_t dropout_threshold(double p) {
  const double scaled = p * 0x1p32;
  const auto whole = static_cast<std::uint64_t>(scaled);
  // The difference is exact, as scaled + 0.5 is not for the double next to 2^-33.
  return whole + (scaled - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

}  // namespace qkv
