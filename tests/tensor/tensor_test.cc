#include "qkv/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace qkv {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

// ---- Element types ------------------------------------------------------------------------------

struct Type {
  DType dtype;
  std::size_t size;
  const char* name;
  const char* short_name;
  bool floating;
};

constexpr Type kTypes[] = {
    {DType::kFloat32, 4, "float32", "f32", true},    {DType::kFloat16, 2, "float16", "f16", true},
    {DType::kBFloat16, 2, "bfloat16", "bf16", true}, {DType::kFloat64, 8, "float64", "f64", true},
    {DType::kBool, 1, "bool", "bool", false},        {DType::kUInt8, 1, "uint8", "u8", false},
    {DType::kInt8, 1, "int8", "i8", false},          {DType::kUInt16, 2, "uint16", "u16", false},
    {DType::kInt16, 2, "int16", "i16", false},       {DType::kUInt32, 4, "uint32", "u32", false},
    {DType::kInt32, 4, "int32", "i32", false},       {DType::kUInt64, 8, "uint64", "u64", false},
    {DType::kInt64, 8, "int64", "i64", false},
};

TEST(DTypes, SizesAndNames) {
  for (const Type& type : kTypes) {
    EXPECT_EQ(size_of(type.dtype), type.size) << type.name;
    EXPECT_EQ(name_of(type.dtype), type.name);
    EXPECT_EQ(is_floating(type.dtype), type.floating) << type.name;
    for (const char* name : {type.name, type.short_name}) {
      DType found = type.dtype == DType::kInt8 ? DType::kBool : DType::kInt8;
      EXPECT_TRUE(dtype_from_name(name, found)) << name;
      EXPECT_EQ(found, type.dtype) << name;
    }
  }
}

TEST(DTypes, UnknownNamesChangeNothing) {
  for (const char* name : {"", "f3", "Float32", "float", "f32 ", "half", "complex64"}) {
    DType dtype = DType::kUInt16;
    EXPECT_FALSE(dtype_from_name(name, dtype)) << name;
    EXPECT_EQ(dtype, DType::kUInt16);
  }
}

TEST(DTypes, OfCppTypes) {
  const auto of = [](auto* elements) { return TensorView(elements, {1}).dtype; };
  float f{};
  double d{};
  bool b{};
  std::int8_t i8{};
  std::uint8_t u8{};
  std::int16_t i16{};
  std::uint16_t u16{};
  std::int32_t i32{};
  std::uint32_t u32{};
  std::int64_t i64{};
  std::uint64_t u64{};
  EXPECT_EQ(of(&f), DType::kFloat32);
  EXPECT_EQ(of(&d), DType::kFloat64);
  EXPECT_EQ(of(&b), DType::kBool);
  EXPECT_EQ(of(&i8), DType::kInt8);
  EXPECT_EQ(of(&u8), DType::kUInt8);
  EXPECT_EQ(of(&i16), DType::kInt16);
  EXPECT_EQ(of(&u16), DType::kUInt16);
  EXPECT_EQ(of(&i32), DType::kInt32);
  EXPECT_EQ(of(&u32), DType::kUInt32);
  EXPECT_EQ(of(&i64), DType::kInt64);
  EXPECT_EQ(of(&u64), DType::kUInt64);
  const float constant = 1;
  EXPECT_EQ(TensorView(&constant, {1}).dtype, DType::kFloat32);
}

// ---- Views --------------------------------------------------------------------------------------

TEST(View, RowMajorStrides) {
  const float* none = nullptr;
  const TensorView view(none, {2, 3, 4, 5});
  EXPECT_EQ(view.rank, 4);
  EXPECT_EQ(view.extents, (Extents{2, 3, 4, 5}));
  EXPECT_EQ(view.strides, (Extents{60, 20, 5, 1}));
  EXPECT_EQ(view.size(), 120);
  EXPECT_EQ(TensorView(none, {7}).strides[0], 1);
  EXPECT_EQ(TensorView(none, {2, 0, 3}).size(), 0);
}

TEST(View, RankZeroHasOneElementAndAbsentIsNoTensor) {
  const float one = 1;
  const TensorView scalar(&one, DType::kFloat32, Shape{});
  EXPECT_TRUE(scalar.defined());
  EXPECT_EQ(scalar.rank, 0);
  EXPECT_EQ(scalar.size(), 1);
  EXPECT_EQ(shape_string(scalar), "[]");
  EXPECT_FALSE(TensorView().defined());
  EXPECT_EQ(shape_string(TensorView()), "(absent)");
  EXPECT_EQ(describe(MutableTensorView()), "(absent)");
}

TEST(View, MoreThanFourExtentsKeepTheirRankAndNothingElse) {
  const float one = 1;
  const TensorView view(&one, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(view.rank, 6);
  EXPECT_EQ(view.extents, (Extents{1, 2, 3, 4}));
  EXPECT_EQ(shape_string(view), "[1, 2, 3, 4, ... (rank 6)]");
}

// Strides of extents whose product overflows wrap silently; validation refuses such a view.
TEST(View, AbsurdExtentsAreNotUndefined) {
  const float one = 1;
  const TensorView view(&one, {kHuge, kHuge, kHuge, kHuge});
  EXPECT_EQ(view.strides[3], 1);
  EXPECT_EQ(view.strides[2], kHuge);
  EXPECT_EQ(view.strides[1], 1);  // (2^63 - 1)^2 modulo 2^64
}

TEST(View, ShapesInWords) {
  const float one = 1;
  EXPECT_EQ(shape_string(TensorView(&one, {1, 8, 4096, 64})), "[1, 8, 4096, 64]");
  EXPECT_EQ(shape_string(TensorView(&one, {-3, 0})), "[-3, 0]");
  EXPECT_EQ(describe(TensorView(&one, {1, 8})), "float32 [1, 8]");
  EXPECT_EQ(describe(TensorView(&one, DType::kBFloat16, {5})), "bfloat16 [5]");
}

TEST(View, TransposedSlicedAndMutable) {
  std::vector<std::int16_t> numbers(24);
  for (std::size_t i = 0; i < 24; ++i) numbers[i] = static_cast<std::int16_t>(i);
  const MutableTensorView all(numbers.data(), {2, 3, 4});
  const auto at = [](const TensorView& view, std::int64_t a, std::int64_t b, std::int64_t c) {
    return static_cast<const std::int16_t*>(
        view.data)[a * view.strides[0] + b * view.strides[1] + c * view.strides[2]];
  };
  const MutableTensorView turned = all.transposed(0, 2);
  EXPECT_EQ(turned.extents, (Extents{4, 3, 2, 0}));
  const MutableTensorView part = all.slice(1, 1, 3).slice(2, 3, 4);
  EXPECT_EQ(part.extents, (Extents{2, 2, 1, 0}));
  for (std::int64_t a = 0; a < 2; ++a) {
    for (std::int64_t b = 0; b < 3; ++b) {
      for (std::int64_t c = 0; c < 4; ++c) EXPECT_EQ(at(turned, c, b, a), 12 * a + 4 * b + c);
      if (b < 2) {
        EXPECT_EQ(at(part, a, b, 0), 12 * a + 4 * (b + 1) + 3);
      }
    }
  }
  EXPECT_EQ(all.slice(0, 1, 1).size(), 0);
  const TensorView constant = all;
  EXPECT_EQ(constant.data, all.data);
  EXPECT_EQ(constant.strides, all.strides);
  EXPECT_EQ(constant.dtype, DType::kInt16);
}

// ---- Owning tensors -----------------------------------------------------------------------------

TEST(Allocate, ZerosAlignedAndRowMajor) {
  for (const Type& type : kTypes) {
    Tensor tensor;
    ASSERT_TRUE(allocate(type.dtype, Shape{3, 5, 7}, tensor).ok());
    EXPECT_EQ(tensor.dtype(), type.dtype);
    EXPECT_EQ(tensor.rank(), 3);
    EXPECT_EQ(tensor.extent(1), 5);
    EXPECT_EQ(tensor.size(), 105);
    EXPECT_EQ(tensor.view().strides, (Extents{35, 7, 1, 0}));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.view().data) % 64, 0u);
    const auto* bytes = tensor.data<const unsigned char>();
    for (std::size_t i = 0; i < 105 * type.size; ++i) ASSERT_EQ(bytes[i], 0);
  }
}

TEST(Allocate, OwnershipIsShared) {
  Tensor copy;
  {
    Tensor tensor;
    ASSERT_TRUE(allocate(DType::kInt32, Shape{4}, tensor).ok());
    tensor.data<std::int32_t>()[3] = 42;
    copy = tensor;
  }
  EXPECT_EQ(copy.data<std::int32_t>()[3], 42);
  EXPECT_FALSE(Tensor().defined());
}

TEST(Allocate, EmptyAndRankZero) {
  Tensor tensor;
  ASSERT_TRUE(allocate(DType::kFloat64, Shape{}, tensor).ok());
  EXPECT_EQ(tensor.size(), 1);
  EXPECT_EQ(tensor.data<double>()[0], 0.0);
  for (const Shape& shape : {Shape{0}, Shape{0, kHuge, kHuge}, Shape{kHuge, 0, 5}}) {
    ASSERT_TRUE(allocate(DType::kFloat64, shape, tensor).ok());
    EXPECT_EQ(tensor.size(), 0);
    EXPECT_NE(tensor.view().data, nullptr);
  }
}

TEST(Allocate, RefusesWhatCanNotBe) {
  const std::pair<Shape, const char*> bad[] = {
      {{1, 1, 1, 1, 1}, "shape: rank 5 is too large; a tensor has at most 4 dimensions"},
      {{2, -1}, "shape: [2, -1] has a negative extent; extents are 0 or more"},
      {{0, -1}, "shape: [0, -1] has a negative extent; extents are 0 or more"},
      {{std::int64_t{1} << 61, 2},
       "shape: float64 [2305843009213693952, 2] is over 2^62 bytes; make it smaller"},
      {{kHuge, kHuge, kHuge, kHuge}, nullptr},
  };
  for (const auto& [shape, message] : bad) {
    Tensor tensor;
    const Status status = allocate(DType::kFloat64, shape, tensor);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    if (message != nullptr) {
      EXPECT_EQ(status.message(), message);
    }
    EXPECT_FALSE(tensor.defined());
  }
  Tensor tensor;
  EXPECT_EQ(allocate(static_cast<DType>(99), Shape{2}, tensor).message(),
            "dtype: type 99 is unknown; pass a value of DType");
}

TEST(Allocate, SaysIfMemoryIsShort) {
  Tensor tensor;
  ASSERT_TRUE(allocate(DType::kUInt8, Shape{3}, tensor).ok());
  const Status status = allocate(DType::kFloat32, Shape{std::int64_t{1} << 58}, tensor);
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(status.message(),
            "no memory for a tensor float32 [288230376151711744] of 1152921504606846976 bytes");
  EXPECT_EQ(tensor.size(), 3) << "a failed call changed the tensor";
}

}  // namespace
}  // namespace qkv
