#include "compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "elements.h"

namespace qkv::app {
namespace {

template <class Element>
constexpr bool kIsFloating = std::is_floating_point_v<Element> || std::is_same_v<Element, Half> ||
                             std::is_same_v<Element, BFloat16>;

template <std::size_t kBytes>
using BitsOf = std::conditional_t<kBytes == 2, std::uint16_t,
                                  std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>;

// Floating-point numbers in their order as integers, neighbours 1 apart, both zeros 0.
template <class Element>
std::int64_t rank_of(Element element) {
  using Bits = BitsOf<sizeof(Element)>;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Element) - 1));
  const Bits bits = std::bit_cast<Bits>(element);
  const auto magnitude = static_cast<std::int64_t>(bits & static_cast<Bits>(~kSign));
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

template <class Element>
std::uint64_t ulp_between(Element a, Element b) {
  const std::int64_t x = rank_of(a), y = rank_of(b);
  const auto ux = static_cast<std::uint64_t>(x), uy = static_cast<std::uint64_t>(y);
  return x > y ? ux - uy : uy - ux;
}

template <class Element>
double difference(Element a, Element b) {
  if constexpr (std::is_integral_v<Element>) {
    // Unsigned, so that it can't overflow.
    const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
    return static_cast<double>(a > b ? ua - ub : ub - ua);
  } else {
    const double x = value_as<double>(a), y = value_as<double>(b);
    if (std::isnan(x) && std::isnan(y)) return 0;
    if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::infinity();
    return x == y ? 0 : std::fabs(x - y);
  }
}

template <class Element>
std::string text_of(Element element) {
  if constexpr (std::is_integral_v<Element>) {
    return fmt::format("{}", element);
  } else if constexpr (std::is_same_v<Element, double>) {
    return fmt::format("{}", element);
  } else {
    return fmt::format("{}", value_as<float>(element));
  }
}

std::vector<std::int64_t> place_of(std::int64_t index, const TensorView& view) {
  std::vector<std::int64_t> place(static_cast<std::size_t>(view.rank));
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    place[static_cast<std::size_t>(axis)] = index % view.extents[axis];
    index /= view.extents[axis];
  }
  return place;
}

template <class Element>
class Comparer {
 public:
  explicit Comparer(const Tolerance& tolerance) : tolerance_(tolerance) {}

  // Two elements whose bits differ.
  void add(Element a, Element b, std::int64_t index) {
    if (result.unequal_bits++ == 0) {
      first_index = index;
      result.first_a = text_of(a);
      result.first_b = text_of(b);
    }
    const double apart = difference(a, b);
    result.largest = std::max(result.largest, apart);
    std::uint64_t ulp = 0;
    if constexpr (kIsFloating<Element>) {
      const double x = value_as<double>(a), y = value_as<double>(b);
      const bool one_nan = std::isnan(x) != std::isnan(y);
      const bool two_nans = std::isnan(x) && std::isnan(y);
      if (one_nan) ulp = std::numeric_limits<std::uint64_t>::max();
      if (!one_nan && !two_nans) ulp = ulp_between(a, b);
      result.largest_ulp = std::max(result.largest_ulp.value_or(0), ulp);
    }
    if (!agree(apart, ulp, value_as<double>(b))) ++result.disagreeing;
  }

  Comparison result;
  std::int64_t first_index = 0;

 private:
  bool agree(double apart, std::uint64_t ulp, double b) const {
    if (!tolerance_.given()) return false;
    if (apart == 0) return true;
    if (!std::isfinite(apart)) return false;
    if (kIsFloating<Element> && tolerance_.ulp && ulp <= *tolerance_.ulp) return true;
    if (!tolerance_.atol && !tolerance_.rtol) return false;
    return apart <= tolerance_.atol.value_or(0) + tolerance_.rtol.value_or(0) * std::fabs(b);
  }

  const Tolerance& tolerance_;
};

}  // namespace

Comparison compare(const TensorView& a, const TensorView& b, const Tolerance& tolerance) {
  return with_element(a.dtype, [&](auto element) {
    using Element = decltype(element);
    Comparer<Element> comparer(tolerance);
    const auto* x = static_cast<const Element*>(a.data);
    const auto* y = static_cast<const Element*>(b.data);
    const std::int64_t size = a.size();
    comparer.result.elements = size;
    if constexpr (kIsFloating<Element>) comparer.result.largest_ulp = 0;
    if (is_row_major(a) && is_row_major(b)) {
      // Mostly equal files are read at the speed of memcmp.
      constexpr std::int64_t kPiece = 1024;
      for (std::int64_t begin = 0; begin < size; begin += kPiece) {
        const std::int64_t count = std::min(kPiece, size - begin);
        if (std::memcmp(x + begin, y + begin, static_cast<std::size_t>(count) * sizeof(Element)) ==
            0) {
          continue;
        }
        for (std::int64_t i = begin; i < begin + count; ++i) {
          if (std::memcmp(x + i, y + i, sizeof(Element)) != 0) comparer.add(x[i], y[i], i);
        }
      }
    } else {
      Walk walk_a(a), walk_b(b);
      for (std::int64_t i = 0; i < size; ++i, walk_a.next(), walk_b.next()) {
        const Element* p = x + walk_a.offset();
        const Element* q = y + walk_b.offset();
        if (std::memcmp(p, q, sizeof(Element)) != 0) comparer.add(*p, *q, i);
      }
    }
    if (comparer.result.unequal_bits > 0) {
      comparer.result.first_place = place_of(comparer.first_index, a);
    }
    return comparer.result;
  });
}

}  // namespace qkv::app
