#include "compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace qkv::app {
namespace {

using ::testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
Comparison compare_lists(const std::vector<T>& a, const std::vector<T>& b,
                         const Tolerance& tolerance = {}) {
  const auto size = static_cast<std::int64_t>(a.size());
  return compare(TensorView(a.data(), {size}), TensorView(b.data(), {size}), tolerance);
}

TEST(Compare, EqualBits) {
  const Comparison result = compare_lists<float>({1, kNan, -0.0f}, {1, kNan, -0.0f});
  EXPECT_EQ(result.unequal_bits, 0);
  EXPECT_EQ(result.largest, 0);
  EXPECT_EQ(result.largest_ulp, 0u);
}

TEST(Compare, FirstPlaceAndLargest) {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, 2, 3, 4.5f, 5, 8};
  const Comparison result = compare(TensorView(a.data(), {2, 3}), TensorView(b.data(), {2, 3}), {});
  EXPECT_EQ(result.unequal_bits, 2);
  EXPECT_EQ(result.largest, 2);
  EXPECT_THAT(result.first_place, ElementsAre(1, 0));
  EXPECT_EQ(result.first_a, "4");
  EXPECT_EQ(result.first_b, "4.5");
}

TEST(Compare, StepsBetweenNumbers) {
  EXPECT_EQ(compare_lists<float>({1}, {std::nextafterf(1, 2)}).largest_ulp, 1u);
  EXPECT_EQ(compare_lists<float>({0.0f}, {-0.0f}).largest_ulp, 0u);
  const float smallest = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(compare_lists<float>({-smallest}, {smallest}).largest_ulp, 2u);
  EXPECT_EQ(compare_lists<double>({1}, {std::nextafter(1.0, 0.0)}).largest_ulp, 1u);
  EXPECT_EQ(compare_lists<float>({kNan}, {1}).largest_ulp,
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(compare_lists<double>({-std::numeric_limits<double>::infinity()},
                                  {std::numeric_limits<double>::infinity()})
                .largest_ulp,
            2u * 0x7ff0000000000000u);
  EXPECT_FALSE(compare_lists<std::int32_t>({1}, {2}).largest_ulp);
}

TEST(Compare, HalfPrecision) {
  const std::uint16_t a[] = {0x3c00, 0x0001, 0x8000}, b[] = {0x3c01, 0x0003, 0x0000};
  const TensorView x(a, DType::kFloat16, {3}), y(b, DType::kFloat16, {3});
  const Comparison half = compare(x, y, {});
  EXPECT_EQ(half.unequal_bits, 3);
  EXPECT_EQ(half.largest_ulp, 2u);
  EXPECT_EQ(half.largest, 0x1p-10);
  const std::uint16_t c[] = {0x3f80}, d[] = {0x3f81};  // 1 and its neighbour
  const Comparison brain =
      compare(TensorView(c, DType::kBFloat16, {1}), TensorView(d, DType::kBFloat16, {1}), {});
  EXPECT_EQ(brain.largest, 0x1p-7);
  EXPECT_EQ(brain.largest_ulp, 1u);
}

TEST(Compare, Tolerances) {
  Tolerance atol, rtol, ulp;
  atol.atol = 0.5;
  rtol.rtol = 0.1;
  ulp.ulp = 1;
  EXPECT_EQ(compare_lists<float>({1, 1}, {1.5f, 1.75f}, atol).disagreeing, 1);
  EXPECT_EQ(compare_lists<float>({100, 100}, {109, 120}, rtol).disagreeing, 1);
  EXPECT_EQ(compare_lists<float>({1, 1}, {std::nextafterf(1, 2), 1.5f}, ulp).disagreeing, 1);
  for (const Tolerance& tolerance : {atol, rtol, ulp}) {
    EXPECT_EQ(compare_lists<float>({0.0f, -kNan}, {-0.0f, kNan}, tolerance).disagreeing, 0);
    EXPECT_EQ(compare_lists<float>({kNan, kInfinity}, {1, 1}, tolerance).disagreeing, 2);
    EXPECT_EQ(compare_lists<float>({kInfinity}, {kInfinity}, tolerance).disagreeing, 0);
  }
  EXPECT_EQ(compare_lists<float>({0.0f}, {-0.0f}).disagreeing, 1);
}

TEST(Compare, WholeNumbersDontOverflow) {
  EXPECT_EQ(compare_lists<std::int64_t>({std::numeric_limits<std::int64_t>::min()},
                                        {std::numeric_limits<std::int64_t>::max()})
                .largest,
            0x1p64);
  EXPECT_EQ(compare_lists<std::int8_t>({-128}, {127}).largest, 255);
  EXPECT_EQ(compare_lists<std::uint8_t>({0}, {255}).largest, 255);
}

TEST(Compare, Strides) {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, 4, 2, 5, 3, 7};
  const TensorView x(a.data(), {2, 3});
  const TensorView y = TensorView(b.data(), {3, 2}).transposed(0, 1);
  const Comparison result = compare(x, y, {});
  EXPECT_EQ(result.unequal_bits, 1);
  EXPECT_THAT(result.first_place, ElementsAre(1, 2));
}

TEST(Compare, ManyElements) {
  std::vector<double> a(5000, 1.0), b = a;
  b[4097] = 2;
  const Comparison result = compare_lists(a, b);
  EXPECT_EQ(result.elements, 5000);
  EXPECT_EQ(result.unequal_bits, 1);
  EXPECT_THAT(result.first_place, ElementsAre(4097));
}

}  // namespace
}  // namespace qkv::app
