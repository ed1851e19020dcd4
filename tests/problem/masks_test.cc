// Mask and bias: types, shapes and how they broadcast.
#include "problem/problem_test_util.h"

namespace qkv::test {
namespace {

TEST(Masks, TypesSayWhatTheyMean) {
  const auto with_mask = [](DType dtype) {
    return [dtype](Problem& p) { p.options.mask = tensor(9, {3, 5}, dtype); };
  };
  expect_refused({
      {with_mask(DType::kUInt8),
       "mask: type uint8 is ambiguous; pass bool (true = may attend) or a float bias"},
      {with_mask(DType::kInt64),
       "mask: type int64 is ambiguous; pass bool (true = may attend) or a float bias"},
      {[](Problem& p) {
         p.options.mask = tensor(9, {3, 5});
         p.options.bias = tensor(10, {3, 5});
       },
       "mask, bias: a float32 mask is itself a bias; pass a bool mask, or one of the two"},
      {[](Problem& p) { p.options.bias = tensor(9, {3, 5}, DType::kBool); },
       "bias: type bool can't be added to the scores of float32 inputs; pass float32, float16 or "
       "bfloat16"},
      {[](Problem& p) { p.options.bias = tensor(9, {3, 5}, DType::kInt32); },
       "bias: type int32 can't be added to the scores of float32 inputs; pass float32, float16 or "
       "bfloat16"},
      {[](Problem& p) { p.options.bias = tensor(9, {3, 5}, DType::kFloat64); },
       "bias: type float64 can't be added to the scores of float32 inputs; pass float32, float16 "
       "or bfloat16"},
      {with_mask(DType::kFloat64),
       "mask: type float64 can't be added to the scores of float32 inputs; pass float32, float16 "
       "or bfloat16"},
  });
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    Problem p = good_problem();
    p.options.mask = tensor(9, {3, 5}, DType::kBool);
    p.options.bias = tensor(10, {3, 5}, dtype);
    expect_good(p);
  }
  Problem p = of_type(DType::kFloat64);
  p.options.bias = tensor(9, {3, 5}, DType::kFloat64);
  expect_good(p);
}

// For float64 inputs a float64 bias is good, and the advice says so.
TEST(Masks, AdviceForFloat64Inputs) {
  Problem p = of_type(DType::kFloat64);
  p.options.bias = tensor(9, {3, 5}, DType::kInt32);
  EXPECT_EQ(validate(p).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(message_of(p), ::testing::ContainsRegex("pass .*float64"));
}

TEST(Masks, AFloatMaskIsTheBias) {
  Problem p = good_problem();
  p.options.mask = tensor(9, {3, 5});
  ASSERT_TRUE(validate(p).ok());
  EXPECT_FALSE(p.mask.defined());
  EXPECT_EQ(p.bias.data, place(9));
}

// openvinotoolkit/openvino PR #21217; pytorch/pytorch #120810.
TEST(Masks, ShapesBroadcastFromTheRight) {
  struct Case {
    Shape shape;
    Extents strides;  // of the rank-4 view [2, 4, 3, 5]
  };
  const Case cases[] = {
      {{}, {0, 0, 0, 0}},           {{1}, {0, 0, 0, 0}},
      {{5}, {0, 0, 0, 1}},          {{3, 1}, {0, 0, 1, 0}},
      {{3, 5}, {0, 0, 5, 1}},       {{1, 5}, {0, 0, 0, 1}},
      {{4, 1, 1}, {0, 1, 0, 0}},    {{4, 3, 5}, {0, 15, 5, 1}},
      {{2, 1, 1, 5}, {5, 0, 0, 1}}, {{2, 4, 3, 5}, {60, 15, 5, 1}},
      {{1, 1, 1, 1}, {0, 0, 0, 0}},
  };
  for (const Case& c : cases) {
    Problem p = good_problem();
    p.options.mask = tensor(9, c.shape, DType::kBool);
    p.options.bias = tensor(10, c.shape);
    ASSERT_TRUE(validate(p).ok()) << validate(p).message();
    EXPECT_EQ(p.mask.extents, (Extents{2, 4, 3, 5}));
    EXPECT_EQ(p.mask.strides, c.strides) << ::testing::PrintToString(c.shape);
    EXPECT_EQ(p.bias.strides, c.strides);
  }
}

TEST(Masks, ShapesThatDoNotBroadcastAreRefused) {
  const auto message = [](const std::string& name, const std::string& shape) {
    return name + ": shape " + shape +
           " does not broadcast to [batch, query heads, queries, keys] = [2, 4, 3, 5]; dimensions "
           "are matched from the right and must be equal or 1";
  };
  const auto with = [](const Shape& shape, DType dtype) {
    return [shape, dtype](Problem& p) {
      (dtype == DType::kBool ? p.options.mask : p.options.bias) = tensor(9, shape, dtype);
    };
  };
  const DType b = DType::kBool, f = DType::kFloat32;
  expect_refused({
      {with({5, 3}, b), message("mask", "[5, 3]")},
      {with({2, 5}, b), message("mask", "[2, 5]")},
      {with({2, 1, 5}, b), message("mask", "[2, 1, 5]")},  // a batch, where heads are wanted
      {with({2, 2, 3, 5}, f), message("bias", "[2, 2, 3, 5]")},
      {with({0}, f), message("bias", "[0]")},
      {with({6}, f), message("bias", "[6]")},
      {[](Problem& p) { p.options.mask = tensor(9, {2, 5}); }, message("mask", "[2, 5]")},
      {with({1, 1, 1, 1, 1}, b), "mask: rank 5 is too large; pass 4 dimensions at most"},
      {with({-1, 5}, f), "bias: shape [-1, 5] has a negative extent; extents are 0 or more"},
  });
}

TEST(Masks, NullPointersAreRefused) {
  Problem p = good_problem();
  p.options.mask = TensorView(nullptr, DType::kBool, Shape{3, 5});
  EXPECT_THAT(message_of(p), ::testing::StartsWith("mask: null pointer for bool "));
  p = good_problem();
  p.options.bias = TensorView(nullptr, DType::kFloat16, Shape{3, 5});
  EXPECT_THAT(message_of(p), ::testing::StartsWith("bias: null pointer for float16 "));
}

// Messages name the argument that was given, in the shape it was given.
TEST(Masks, NullPointersAreReportedAsGiven) {
  Problem p = good_problem();
  p.options.mask = TensorView(nullptr, DType::kFloat32, Shape{3, 5});
  EXPECT_THAT(message_of(p), ::testing::StartsWith("mask: null pointer for float32 [3, 5]"));
}

TEST(Masks, OverlapIsReportedAsGiven) {
  Problem p = good_problem();
  p.options.mask = TensorView(p.outputs.out.data, DType::kFloat32, Shape{3, 5});
  EXPECT_THAT(message_of(p),
              ::testing::StartsWith("out [2, 4, 3, 6] and mask [3, 5] share memory"));
}

}  // namespace
}  // namespace qkv::test
