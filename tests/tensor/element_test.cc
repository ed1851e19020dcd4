// Single elements: how they are read, and how results leave the library.
#include "tensor/element.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace qkv {
namespace {

TEST(Element, OffsetsCountElements) {
  TensorView view(static_cast<const float*>(nullptr), {9, 9, 9, 9});
  view.strides = {1000, -100, 0, 7};
  EXPECT_EQ(offset_of(view, 1, 2, 3, 4), 1000 - 200 + 28);
  view.strides = {std::int64_t{1} << 40, 1, 1, 1};
  EXPECT_EQ(offset_of(view, 3, 0, 0, 0), std::int64_t{3} << 40);
}

TEST(Element, LoadsWidenExactly) {
  const std::array<std::uint16_t, 3> halves = {0x3c00, 0xc000, 0x0001};  // 1, -2, 2^-24
  const TensorView half(halves.data(), DType::kFloat16, {3});
  EXPECT_EQ(load_float(half, 0), 1.0f);
  EXPECT_EQ(load_float(half, 1), -2.0f);
  EXPECT_EQ(load_double(half, 2), 0x1p-24);
  const std::array<std::uint16_t, 2> brains = {0x3f80, 0x0001};  // 1, 2^-133
  const TensorView brain(brains.data(), DType::kBFloat16, {2});
  EXPECT_EQ(load_float(brain, 0), 1.0f);
  EXPECT_EQ(load_double(brain, 1), 0x1p-133);
  const std::array<double, 2> doubles = {0.1, 1e300};
  EXPECT_EQ(load_double(TensorView(doubles.data(), {2}), 0), 0.1);
  EXPECT_EQ(load_double(TensorView(doubles.data(), {2}), 1), 1e300);
  const std::array<float, 1> floats = {0.1f};
  EXPECT_EQ(load_double(TensorView(floats.data(), {1}), 0), double{0.1f});
}

TEST(Element, AnyByteButZeroIsTrue) {
  const std::array<std::uint8_t, 4> bytes = {0, 1, 2, 0x80};
  const TensorView view(bytes.data(), DType::kBool, {4});
  EXPECT_FALSE(load_bool(view, 0));
  for (std::int64_t i = 1; i < 4; ++i) EXPECT_TRUE(load_bool(view, i));
}

template <class Bits, class Value>
Bits stored(DType dtype, Value value) {
  Bits memory[3] = {static_cast<Bits>(0x11), static_cast<Bits>(0x11), static_cast<Bits>(0x11)};
  const MutableTensorView view(memory, dtype, {3});
  store_result(view, 1, value);
  EXPECT_EQ(memory[0], Bits{0x11});
  EXPECT_EQ(memory[2], Bits{0x11});
  return memory[1];
}

TEST(Element, ResultsHaveOneZeroAndOneNaN) {
  const float odd_nan = std::bit_cast<float>(0xffc12345u);
  const double odd_nan64 = std::bit_cast<double>(0xfff8000000000001u);
  EXPECT_EQ((stored<std::uint32_t>(DType::kFloat32, -0.0f)), 0u);
  EXPECT_EQ((stored<std::uint32_t>(DType::kFloat32, odd_nan)), 0x7fc00000u);
  EXPECT_EQ((stored<std::uint16_t>(DType::kFloat16, -0.0f)), 0u);
  EXPECT_EQ((stored<std::uint16_t>(DType::kFloat16, -1e-30f)), 0u);  // rounds to -0
  EXPECT_EQ((stored<std::uint16_t>(DType::kFloat16, odd_nan)), 0x7e00u);
  EXPECT_EQ((stored<std::uint16_t>(DType::kBFloat16, -0.0f)), 0u);
  EXPECT_EQ((stored<std::uint16_t>(DType::kBFloat16, -1e-45f)), 0u);
  EXPECT_EQ((stored<std::uint16_t>(DType::kBFloat16, odd_nan)), 0x7fc0u);
  EXPECT_EQ((stored<std::uint64_t>(DType::kFloat64, -0.0)), 0u);
  EXPECT_EQ((stored<std::uint64_t>(DType::kFloat64, odd_nan64)), 0x7ff8000000000000u);
  EXPECT_EQ((stored<std::uint32_t>(DType::kFloat32, -1e-300)), 0u);  // a double that rounds to -0
  EXPECT_EQ((stored<std::uint32_t>(DType::kFloat32, odd_nan64)), 0x7fc00000u);
}

TEST(Element, ResultsAreRoundedOnceAndKeepSubnormals) {
  EXPECT_EQ((stored<std::uint32_t>(DType::kFloat32, 0x1p-149f)), 1u);
  EXPECT_EQ((stored<std::uint32_t>(DType::kFloat32, 1.0)), 0x3f800000u);
  EXPECT_EQ((stored<std::uint64_t>(DType::kFloat64, 0.1)), std::bit_cast<std::uint64_t>(0.1));
  EXPECT_EQ((stored<std::uint16_t>(DType::kFloat16, 0x1p-24f)), 1u);
  EXPECT_EQ((stored<std::uint16_t>(DType::kFloat16, 70000.0f)), 0x7c00u);
  EXPECT_EQ((stored<std::uint16_t>(DType::kBFloat16, 1.00390625f)), 0x3f80u);  // a tie, to even
}

}  // namespace
}  // namespace qkv
