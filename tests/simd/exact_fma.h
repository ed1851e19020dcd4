// a * b + c rounded once, by integer arithmetic alone: independent of every floating-point unit.
#ifndef QKV_TESTS_SIMD_EXACT_FMA_H_
#define QKV_TESTS_SIMD_EXACT_FMA_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace qkv::test {

__extension__ typedef unsigned __int128 Wide;

// magnitude * 2^exponent, exactly.
struct Integer {
  bool negative;
  Wide magnitude;
  int exponent;
};

inline Integer integer_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const int exponent = static_cast<int>((bits >> 23) & 0xff);
  const std::uint32_t fraction = bits & 0x7fffff;
  if (exponent == 0) return {bits >> 31 != 0, fraction, -149};
  return {bits >> 31 != 0, fraction | 0x800000, exponent - 150};
}

// magnitude * 2^exponent, plus something below a unit of it if `sticky`, to nearest even.
inline float round_to_float(const Integer& x, bool sticky) {
  int length = 0;
  while (length < 128 && x.magnitude >> length != 0) ++length;
  // The unit in the last place of the result: 24 bits, but never below 2^-149.
  const int unit = std::max(length + x.exponent - 24, -149);
  const int dropped = unit - x.exponent;
  Wide kept = x.magnitude;
  if (dropped > 0) {
    const Wide rest = dropped > 127 ? x.magnitude : x.magnitude & ((Wide{1} << dropped) - 1);
    kept = dropped > 127 ? 0 : x.magnitude >> dropped;
    const Wide half = dropped > 127 ? ~Wide{0} : Wide{1} << (dropped - 1);
    if (rest > half || (rest == half && (sticky || kept % 2 == 1))) ++kept;
  } else {
    kept <<= -dropped;
  }
  if (kept >= Wide{1} << 24) return round_to_float({x.negative, kept, unit}, false);
  if (unit > 104) return x.negative ? -HUGE_VALF : HUGE_VALF;
  std::uint32_t bits;
  if (kept < 0x800000) {
    bits = static_cast<std::uint32_t>(kept);  // subnormal or zero
  } else {
    bits = static_cast<std::uint32_t>(unit + 150) << 23 |
           (static_cast<std::uint32_t>(kept) & 0x7fffff);
  }
  return std::bit_cast<float>(bits | (x.negative ? 0x80000000u : 0));
}

// For finite a, b and c.
inline float exact_fma(float a, float b, float c) {
  const Integer x = integer_of(a), y = integer_of(b);
  Integer high{x.negative != y.negative, x.magnitude * y.magnitude, x.exponent + y.exponent};
  Integer low = integer_of(c);
  if (high.magnitude == 0 && low.magnitude == 0) {
    return high.negative && low.negative ? -0.0f : 0.0f;
  }
  if (high.magnitude == 0) return c;
  if (low.magnitude == 0) return round_to_float(high, false);
  // A product has 48 bits, so that 72 more hold any c that is not far below or far above.
  if (high.exponent < low.exponent) std::swap(high, low);
  const int shift = std::min(high.exponent - low.exponent, 72);
  high.magnitude <<= shift;
  high.exponent -= shift;
  bool sticky = false;
  if (const int gap = high.exponent - low.exponent; gap > 0) {
    // What lies below `high`'s unit only matters as "more than nothing".
    const Wide kept = gap > 127 ? 0 : low.magnitude >> gap;
    sticky = gap > 127 || kept << gap != low.magnitude;
    low.magnitude = kept;
    low.exponent = high.exponent;
  }
  if (high.negative == low.negative) {
    return round_to_float({high.negative, high.magnitude + low.magnitude, high.exponent}, sticky);
  }
  if (high.magnitude == low.magnitude && !sticky) return 0.0f;
  if (high.magnitude < low.magnitude) std::swap(high, low);
  // h - (l + something) is (h - l - 1) + something.
  const Wide difference = high.magnitude - low.magnitude - (sticky ? 1 : 0);
  return round_to_float({high.negative, difference, high.exponent}, sticky);
}

}  // namespace qkv::test

#endif  // QKV_TESTS_SIMD_EXACT_FMA_H_
