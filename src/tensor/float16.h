// float16 and bfloat16 as bits: widening is exact, narrowing rounds to nearest even, keeps
// subnormals and overflows to infinity. Integer operations only, so that neither the CPU's rounding
// mode nor flush-to-zero can reach the result.
#ifndef QKV_TENSOR_FLOAT16_H_
#define QKV_TENSOR_FLOAT16_H_

#include <bit>
#include <cstdint>

namespace qkv {

inline constexpr std::uint32_t kCanonicalNaN32 = 0x7fc00000;
inline constexpr std::uint16_t kCanonicalNaN16 = 0x7e00;
inline constexpr std::uint16_t kCanonicalNaNB16 = 0x7fc0;

inline float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline float float16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1f;
  std::uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | (fraction << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  if (fraction == 0) return std::bit_cast<float>(sign);
  // Subnormal: shift the leading one up to the implicit place.
  const int shift = std::countl_zero(fraction) - 21;
  fraction = (fraction << shift) & 0x3ff;
  return std::bit_cast<float>(sign | (static_cast<std::uint32_t>(113 - shift) << 23) |
                              (fraction << 13));
}

inline std::uint16_t float_to_bfloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return kCanonicalNaNB16;
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline std::uint16_t float_to_float16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return kCanonicalNaN16;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // 65520 and more round to infinity
  std::uint32_t significand = magnitude;
  int dropped = 13;
  if (magnitude < 0x38800000) {  // below 2^-14: a subnormal
    const int exponent = static_cast<int>(magnitude >> 23);
    if (exponent < 102) return sign;  // below 2^-25: rounds to zero
    significand = (magnitude & 0x7fffff) | 0x800000;
    dropped = 126 - exponent;
  } else {
    significand -= 112u << 23;
  }
  const std::uint32_t half = 1u << (dropped - 1);
  const std::uint32_t odd = (significand >> dropped) & 1;
  return static_cast<std::uint16_t>(sign | ((significand + half - 1 + odd) >> dropped));
}

}  // namespace qkv

#endif  // QKV_TENSOR_FLOAT16_H_
