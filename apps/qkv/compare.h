// How far two arrays are apart.
#ifndef QKV_APPS_QKV_COMPARE_H_
#define QKV_APPS_QKV_COMPARE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qkv/tensor.h"

namespace qkv::app {

// Elements agree if their bits are equal; or, once a tolerance is given, if both are NaN, if they
// are equal as numbers (-0 and +0), or if one of the tolerances allows the difference:
// |a - b| <= atol + rtol * |b|, or at most `ulp` numbers of their type lie between them.
struct Tolerance {
  std::optional<double> atol, rtol;
  std::optional<std::uint64_t> ulp;
  bool given() const { return atol || rtol || ulp; }
};

struct Comparison {
  std::int64_t elements = 0;
  std::int64_t unequal_bits = 0;
  std::int64_t disagreeing = 0;  // beyond the tolerance; without one: unequal_bits
  double largest = 0;            // |a - b|; infinite between NaN and a number
  // Steps between neighbouring numbers of the type; absent for integers. Between NaN and a number
  // the largest uint64.
  std::optional<std::uint64_t> largest_ulp;
  std::vector<std::int64_t> first_place;  // of the first unequal bits
  std::string first_a, first_b;
};

// Both of one type and shape.
Comparison compare(const TensorView& a, const TensorView& b, const Tolerance& tolerance);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_COMPARE_H_
