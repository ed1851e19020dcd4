// A number as the unevaluated sum of two doubles, made by additions and multiplications alone.
#ifndef QKV_SIMD_TWO_DOUBLES_H_
#define QKV_SIMD_TWO_DOUBLES_H_

namespace qkv {

struct TwoDoubles {
  double high, low;  // high is their sum, rounded
};

// a + b exactly, for |a| >= |b| or a = 0.
inline TwoDoubles quick_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

// a * b exactly, for numbers far from overflow and underflow: each cut into halves of 26 bits,
// whose products are exact (Dekker 1971). Faster than std::fma where there is no instruction for
// it.
inline TwoDoubles exact_product(double a, double b) {
  constexpr double kSplit = 0x1p27 + 1;
  const double a_cut = kSplit * a, b_cut = kSplit * b;
  const double a_high = a_cut - (a_cut - a), b_high = b_cut - (b_cut - b);
  const double a_low = a - a_high, b_low = b - b_high;
  const double product = a * b;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

}  // namespace qkv

#endif  // QKV_SIMD_TWO_DOUBLES_H_
