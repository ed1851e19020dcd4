// Errors of float functions in units of the last place, over many floats.
#ifndef QKV_TESTS_SIMD_ERRORS_H_
#define QKV_TESTS_SIMD_ERRORS_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace qkv::test {

inline std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

// |got - right| in units of the last place of float32 at `right`; 0 for the same infinity.
inline double ulps(float got, double right) {
  if (std::isinf(static_cast<float>(right)) && got == static_cast<float>(right)) return 0;
  const int exponent = std::max(std::ilogb(right), -126);
  return std::abs(double{got} - right) / std::ldexp(1.0, exponent - 23);
}

// Every `stride`-th float from `first` to `last` by bits, as long as it is a multiple of 16.
inline std::vector<float> every(std::uint32_t first, std::uint32_t last, std::uint32_t stride) {
  std::vector<float> x;
  for (std::uint64_t bits = first; bits <= last; bits += stride) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  while (x.size() % 16 != 0) x.push_back(std::bit_cast<float>(last));
  return x;
}

// The largest error over x of y, in units of the last place.
inline double largest_error(const std::vector<float>& x, const std::vector<float>& y,
                            double (*right)(double), float& where) {
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(y[i], right(double{x[i]}));
    if (!(error <= largest)) {  // NaN too
      largest = error;
      where = x[i];
    }
  }
  return largest;
}

inline std::vector<float> map(const std::vector<float>& x, float (*f)(float)) {
  std::vector<float> y;
  for (float value : x) y.push_back(f(value));
  return y;
}

}  // namespace qkv::test

#endif  // QKV_TESTS_SIMD_ERRORS_H_
