// Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011) and the rule of dropout. philox-inl.h has it
// on vectors; src/kernels/exact/functions.h is the scalar twin, written apart.
#ifndef QKV_SIMD_PHILOX_H_
#define QKV_SIMD_PHILOX_H_

#include <cstdint>

namespace qkv {

// Multipliers of counter words 0 and 2; what the key's two words grow by after each round.
inline constexpr std::uint32_t kPhiloxMultiplier0 = 0xd2511f53, kPhiloxMultiplier2 = 0xcd9e8d57;
inline constexpr std::uint32_t kPhiloxStep0 = 0x9e3779b9, kPhiloxStep1 = 0xbb67ae85;
inline constexpr int kPhiloxRounds = 10;

// Four random words of a counter of four; `key` is its low word, then its high one. `word` may be
// `counter`.
void philox(const std::uint32_t counter[4], std::uint64_t key, std::uint32_t word[4]);

// floor(p * 2^32 + 1/2) exactly, for 0 <= p <= 1: a pair whose word is less is dropped. 2^32, which
// no word reaches, drops all.
std::uint64_t dropout_threshold(double p);

}  // namespace qkv

#endif  // QKV_SIMD_PHILOX_H_
