// Philox4x32-10 on vectors, a counter in each lane, and which pairs dropout keeps.
#ifndef QKV_SIMD_PHILOX_INL_H_
#define QKV_SIMD_PHILOX_INL_H_

#include "simd/philox.h"
#include "simd/unroll.h"
#include "simd/vec-inl.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

// Lane by lane the four words of a counter of four, as qkv::philox; one key for all lanes.
QKV_INLINE void philox(const U counter[4], std::uint64_t key, U word[4]) {
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  U c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  QKV_UNROLL
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const Product product0 = multiply_wide(c0, kPhiloxMultiplier0);
    const Product product2 = multiply_wide(c2, kPhiloxMultiplier2);
    c0 = product2.high ^ c1 ^ set_words(key0);
    c1 = product2.low;
    c2 = product0.high ^ c3 ^ set_words(key1);
    c3 = product0.low;
    key0 += kPhiloxStep0;
    key1 += kPhiloxStep1;
  }
  word[0] = c0;
  word[1] = c1;
  word[2] = c2;
  word[3] = c3;
}

// Lanes of kept[n]: the queries that keep key 4 group + n. A lane is a query: the low words of its
// position p(i) and the number of its head. `threshold` is that of dropout_threshold().
QKV_INLINE void dropout_keeps(U position, U head, std::uint32_t stream, std::uint64_t seed,
                              std::uint32_t group, std::uint64_t threshold, M kept[4]) {
  const U counter[4] = {set_words(group), position, head, set_words(stream)};
  U word[4];
  philox(counter, seed, word);
  for (int n = 0; n < 4; ++n) {
    kept[n] = at_least(word[n], static_cast<std::uint32_t>(threshold));
    if (threshold >> 32 != 0) kept[n] = but_not(kept[n], kept[n]);  // no word is 2^32
  }
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_SIMD_PHILOX_INL_H_
