// What query, key and value must be.
#include "problem/problem_test_util.h"

namespace qkv::test {
namespace {

TEST(Inputs, MustBeThere) {
  expect_refused({
      {[](Problem& p) { p.inputs.query = {}; }, "query: absent; pass a tensor"},
      {[](Problem& p) { p.inputs.key = {}; }, "key: absent; pass a tensor"},
      {[](Problem& p) { p.inputs.value = {}; }, "value: absent; pass a tensor"},
  });
}

TEST(Inputs, RanksAreTwoToFourAndEqual) {
  expect_refused({
      {[](Problem& p) { p.inputs.query = tensor(1, {1, 2, 4, 3, 8}); },
       "query: rank 5 is too large; pass 4 dimensions at most"},
      {[](Problem& p) { p.inputs.key = tensor(2, {2, 5, 8}); },
       "query, key, value: shapes [2, 4, 3, 8], [2, 5, 8], [2, 2, 5, 6] must have one rank, 2 to "
       "4: [batch, heads, length, d]"},
      {[](Problem& p) { p.inputs.value = tensor(3, {5, 6}); },
       "query, key, value: shapes [2, 4, 3, 8], [2, 2, 5, 8], [5, 6] must have one rank, 2 to 4: "
       "[batch, heads, length, d]"},
      {[](Problem& p) { p.inputs = {tensor(1, {8}), tensor(2, {8}), tensor(3, {6})}; },
       "query, key, value: shapes [8], [8], [6] must have one rank, 2 to 4: [batch, heads, length, "
       "d]"},
      {[](Problem& p) { p.inputs = {tensor(1, {}), tensor(2, {}), tensor(3, {})}; },
       "query, key, value: shapes [], [], [] must have one rank, 2 to 4: [batch, heads, length, "
       "d]"},
  });
  expect_refused({{[](Problem& p) {
                     p.inputs = {tensor(1, {1, 4, 6, 8}), tensor(2, {1, 2, 7, 8}),
                                 tensor(3, {1, 2, 7, 6})};
                   },
                   "query, key, value: shapes [1, 4, 6, 8], [1, 2, 7, 8], [1, 2, 7, 6] of packed "
                   "sequences must all be [total, heads, d]"}},
                 packed_problem);
}

TEST(Inputs, RanksTwoAndThreeDropTheBatchAndTheHeads) {
  Problem p;
  p.inputs = {tensor(1, {4, 3, 8}), tensor(2, {2, 5, 8}), tensor(3, {2, 5, 6})};
  p.outputs.out = tensor(4, {4, 3, 6});
  ASSERT_TRUE(validate(p).ok()) << validate(p).message();
  EXPECT_EQ(p.query.extents, (Extents{1, 4, 3, 8}));
  EXPECT_EQ(p.value.extents, (Extents{1, 2, 5, 6}));
  EXPECT_EQ(p.sequences, 1);
  p = {};
  p.inputs = {tensor(1, {3, 8}), tensor(2, {5, 8}), tensor(3, {5, 6})};
  p.outputs.out = tensor(4, {3, 6});
  ASSERT_TRUE(validate(p).ok()) << validate(p).message();
  EXPECT_EQ(p.key.extents, (Extents{1, 1, 5, 8}));
  EXPECT_EQ(p.out.extents, (Extents{1, 1, 3, 6}));
}

TEST(Inputs, ExtentsAreNotNegative) {
  expect_refused({
      {[](Problem& p) { p.inputs.key = tensor(2, {2, 2, -5, 8}); },
       "key: shape [2, 2, -5, 8] has a negative extent; extents are 0 or more"},
      {[](Problem& p) { p.inputs.query.extents[3] = std::numeric_limits<std::int64_t>::min(); },
       "query: shape [2, 4, 3, -9223372036854775808] has a negative extent; extents are 0 or more"},
  });
}

// Sizes and strides whose sums would overflow are refused, not computed with.
TEST(Inputs, AbsurdSizesAndStridesAreRefused) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const auto with_key = [](std::int64_t length, std::int64_t stride) {
    Problem p = good_problem();
    p.inputs.key.extents[2] = p.inputs.value.extents[2] = length;
    p.inputs.key.strides = {0, 0, stride, 1};
    return p;
  };
  for (const Problem& p :
       {with_key(most, 1), with_key(std::int64_t{1} << 59, 0), with_key(5, most),
        with_key(5, least), with_key(2, least), with_key(2, most),
        with_key(2, std::int64_t{1} << 59), with_key(5, -(std::int64_t{1} << 57)),
        with_key(std::int64_t{1} << 40, 1 << 20)}) {
    Problem copy = p;
    const Status status = validate(copy);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(),
                ::testing::StartsWith("key: shape " + shape_string(p.inputs.key)));
    EXPECT_THAT(status.message(), ::testing::HasSubstr("spans more than 2^58 elements"));
  }
}

TEST(Inputs, AbsurdSizesSayWhatToDo) {
  Problem p = good_problem();
  p.inputs.key.strides[2] = std::int64_t{1} << 60;
  EXPECT_THAT(message_of(p), names_and_advises("key"));
}

TEST(Inputs, StridesOfZeroBelowAndFarApartAreGood) {
  Problem p = good_problem();
  p.inputs.key.strides = {0, 0, 0, 0};
  p.inputs.query.strides = {-96, 24, -8, 1};
  p.inputs.value.strides = {std::int64_t{1} << 32, 1, 5, 7};
  p.inputs.value.data = place(100);
  expect_good(p);
}

TEST(Inputs, TypesAreFloats) {
  for (DType dtype : {DType::kBool, DType::kInt8, DType::kUInt16, DType::kInt64}) {
    const std::string name(name_of(dtype));
    const std::string rest =
        ": type " + name +
        " is not supported here; convert it to float32, float16, bfloat16 or float64";
    expect_refused({
        {[&](Problem& p) { p.inputs.query.dtype = dtype; }, "query" + rest},
        {[&](Problem& p) { p.inputs.key.dtype = dtype; }, "key" + rest},
        {[&](Problem& p) { p.inputs.value.dtype = dtype; }, "value" + rest},
    });
  }
}

TEST(Inputs, Float64DoesNotMix) {
  expect_refused({
      {[](Problem& p) { p.inputs.key.dtype = DType::kFloat64; },
       "query, key, value: types float32, float64, float32 mix float64 with others; make all three "
       "float64 or none"},
      {[](Problem& p) {
         p.inputs.query.dtype = p.inputs.value.dtype = DType::kFloat64;
         p.inputs.key.dtype = DType::kFloat16;
       },
       "query, key, value: types float64, float16, float64 mix float64 with others; make all three "
       "float64 or none"},
  });
}

TEST(Inputs, OtherTypesMix) {
  const DType types[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
  for (DType q : types) {
    for (DType k : types) {
      for (DType v : types) {
        Problem p = good_problem();
        p.inputs.query.dtype = q;
        p.inputs.key.dtype = k;
        p.inputs.value.dtype = v;
        p.options.arithmetic = Arithmetic::kFloat32;
        expect_good(p);
      }
    }
  }
}

TEST(Inputs, AllBfloat16NeedsFloat32Arithmetic) {
  Problem p = of_type(DType::kBFloat16);
  const Status status = validate(p);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.message(),
            "query, key, value: all-bfloat16 inputs have an arithmetic of their own that is not "
            "built yet; ask for arithmetic float32, which widens them exactly");
  p.options.arithmetic = Arithmetic::kFloat32;
  expect_good(p);
}

TEST(Inputs, ShapesAgree) {
  expect_refused({
      {[](Problem& p) { p.inputs.query = tensor(1, {3, 4, 3, 8}); },
       "query [3, 4, 3, 8] and key [2, 2, 5, 8] have different batch sizes; make them equal"},
      {[](Problem& p) { p.inputs.value = tensor(3, {1, 2, 5, 6}); },
       "key [2, 2, 5, 8] and value [1, 2, 5, 6] must agree in batch, heads and length; only the "
       "last dimension may differ"},
      {[](Problem& p) { p.inputs.value = tensor(3, {2, 1, 5, 6}); },
       "key [2, 2, 5, 8] and value [2, 1, 5, 6] must agree in batch, heads and length; only the "
       "last dimension may differ"},
      {[](Problem& p) { p.inputs.value = tensor(3, {2, 2, 4, 6}); },
       "key [2, 2, 5, 8] and value [2, 2, 4, 6] must agree in batch, heads and length; only the "
       "last dimension may differ"},
      {[](Problem& p) { p.inputs.key = tensor(2, {2, 2, 5, 7}); },
       "query [2, 4, 3, 8] and key [2, 2, 5, 7] have different sizes d_qk in the last dimension; "
       "make them equal"},
  });
  expect_refused({{[](Problem& p) { p.inputs.value = tensor(3, {6, 2, 6}); },
                   "key [7, 2, 8] and value [6, 2, 6] must agree in batch, heads and length; only "
                   "the last dimension may differ"}},
                 packed_problem);
}

// fla-org/flash-linear-attention #1029.
TEST(Inputs, QueryHeadsAreAMultipleOfKeyHeads) {
  const auto heads = [](std::int64_t query, std::int64_t key) {
    Problem p = good_problem();
    p.inputs = {tensor(1, {2, query, 3, 8}), tensor(2, {2, key, 5, 8}), tensor(3, {2, key, 5, 6})};
    p.outputs.out = tensor(4, {2, query, 3, 6});
    return p;
  };
  EXPECT_EQ(message_of(heads(3, 2)),
            "query [2, 3, 3, 8] and key [2, 2, 5, 8]: 3 query heads are not a multiple of 2 key "
            "heads; each key head serves the same number of query heads");
  EXPECT_EQ(message_of(heads(33, 2)),
            "query [2, 33, 3, 8] and key [2, 2, 5, 8]: 33 query heads are not a multiple of 2 key "
            "heads; each key head serves the same number of query heads");
  EXPECT_EQ(message_of(heads(2, 3)),
            "query [2, 2, 3, 8] and key [2, 3, 5, 8]: 2 query heads are not a multiple of 3 key "
            "heads; each key head serves the same number of query heads");
  EXPECT_EQ(message_of(heads(1, 0)),
            "query [2, 1, 3, 8] and key [2, 0, 5, 8]: 1 query heads are not a multiple of 0 key "
            "heads; each key head serves the same number of query heads");
  for (const auto& [query, key] :
       std::vector<std::pair<int, int>>{{4, 2}, {4, 1}, {4, 4}, {0, 0}, {0, 3}, {33, 11}}) {
    expect_good(heads(query, key));
  }
}

TEST(Inputs, NullPointersAreRefusedIfThereAreElements) {
  const std::pair<const char*, void (*)(Problem&)> inputs[] = {
      {"query", [](Problem& p) { p.inputs.query.data = nullptr; }},
      {"key", [](Problem& p) { p.inputs.key.data = nullptr; }},
      {"value", [](Problem& p) { p.inputs.value.data = nullptr; }}};
  for (const auto& [name, spoil] : inputs) {
    Problem p = good_problem();
    spoil(p);
    const Status status = validate(p);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), ::testing::StartsWith(std::string(name) + ": null pointer for "
                                                                            "float32 [2, "));
    EXPECT_THAT(status.message(), names_and_advises(name));
  }
  Problem empty = good_problem();
  empty.inputs = {tensor(1, {2, 4, 3, 8}), tensor(2, {2, 2, 0, 8}), tensor(3, {2, 2, 0, 6})};
  empty.inputs.key.data = empty.inputs.value.data = nullptr;
  expect_good(empty);
}

TEST(Inputs, AddressesAreMultiplesOfTheElements) {
  Problem p = good_problem();
  for (const auto& [name, view] :
       {std::pair("query", &p.inputs.query), std::pair("key", &p.inputs.key),
        std::pair("value", &p.inputs.value)}) {
    for (std::size_t shift = 1; shift < 4; ++shift) {
      const TensorView good = *view;
      view->data = static_cast<const char*>(good.data) + shift;
      EXPECT_THAT(message_of(p),
                  ::testing::StartsWith(std::string(name) + ": the address of float32 [2, "));
      EXPECT_THAT(message_of(p), ::testing::HasSubstr("4 bytes; copy it to aligned memory"));
      *view = good;
    }
  }
}

// The shape in a message is the one the caller gave, not the normal form's.
TEST(Inputs, NullPointersAreReportedInTheCallersShape) {
  Problem p = packed_problem();
  p.inputs.key.data = nullptr;
  EXPECT_THAT(message_of(p), ::testing::HasSubstr("[7, 2, 8]"));
  p = {};
  p.inputs = {tensor(1, {3, 8}), tensor(2, {5, 8}), tensor(3, {5, 6})};
  p.inputs.value.data = nullptr;
  EXPECT_THAT(message_of(p), ::testing::HasSubstr("float32 [5, 6]"));
}

TEST(Inputs, OutputShapeNeedsNoOptions) {
  Shape shape;
  Problem p = good_problem();
  ASSERT_TRUE(infer_output_shape(p.inputs, {}, shape).ok());
  EXPECT_EQ(shape, (Shape{2, 4, 3, 6}));
  p = packed_problem();
  ASSERT_TRUE(infer_output_shape(p.inputs, p.options, shape).ok());
  EXPECT_EQ(shape, (Shape{6, 4, 6}));
  p.inputs.value = tensor(3, {6, 2, 6});
  EXPECT_EQ(infer_output_shape(p.inputs, p.options, shape).message(),
            "key [7, 2, 8] and value [6, 2, 6] must agree in batch, heads and length; only the "
            "last dimension may differ");
}

}  // namespace
}  // namespace qkv::test
