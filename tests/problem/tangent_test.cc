// validate() of tangents: what it refuses, and in which words.
#include "problem/tangent_problem.h"
#include "problem_test_util.h"

namespace qkv::test {
namespace {

// That of good_problem(), with everything tangents can take and give.
TangentProblem good_tangents() {
  TangentProblem t;
  const Problem p = good_problem();
  GradientInputs& in = t.gradient.inputs;
  in.query = p.inputs.query;
  in.key = p.inputs.key;
  in.value = p.inputs.value;
  in.d_out = tensor(5, {2, 4, 3, 6});
  t.inputs.query = tensor(6, {2, 4, 3, 8});
  t.inputs.key = tensor(7, {2, 2, 5, 8});
  t.inputs.value = tensor(8, {2, 2, 5, 6});
  t.inputs.bias = tensor(9, {4, 1, 5});
  t.inputs.sinks = tensor(10, {4});
  t.inputs.d_out = tensor(11, {2, 4, 3, 6});
  t.inputs.d_lse = tensor(12, {2, 4, 3});
  t.outputs.out = tensor(13, {2, 4, 3, 6});
  t.outputs.lse = tensor(14, {2, 4, 3});
  t.gradient.outputs.d_query = tensor(15, {2, 4, 3, 8});
  return t;
}

AttentionOptions good_options() {
  AttentionOptions options;
  options.bias = tensor(4, {4, 1, 5});
  options.sinks = {0, 0, 0, 0};
  return options;
}

TEST(TangentProblem, TakesAGoodOne) {
  TangentProblem t = good_tangents();
  const Status status = validate(t, good_options());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(t.bias.extents, (Extents{2, 4, 3, 5}));
  EXPECT_EQ(t.bias.strides, (Extents{0, 5, 0, 1}));
  EXPECT_EQ(t.d_lse.extents, (Extents{2, 4, 3, 1}));
  TangentProblem least;
  least.gradient.inputs = t.gradient.inputs;
  EXPECT_TRUE(validate(least, {}).ok());
  EXPECT_FALSE(least.query.defined());
}

TEST(TangentProblem, RefusesInWords) {
  const std::pair<std::function<void(TangentProblem&, AttentionOptions&)>, const char*> refusals[] =
      {
          {[](auto& t, auto&) { t.inputs.query = tensor(6, {2, 4, 3, 6}); },
           "tangents.query: shape [2, 4, 3, 6] does not fit query [2, 4, 3, 8] and value [2, 2, 5, "
           "6]; it must be [2, 4, 3, 8]"},
          {[](auto& t, auto&) { t.inputs.key.dtype = DType::kFloat64; },
           "tangents.key: type float64 does not fit; pass float32, float16 or bfloat16"},
          {[](auto& t, auto&) { t.inputs.d_lse = tensor(12, {2, 4, 3, 1}); },
           "tangents.d_lse: shape [2, 4, 3, 1] does not fit query [2, 4, 3, 8] and value [2, 2, 5, "
           "6]; it must be [2, 4, 3]"},
          {[](auto& t, auto&) { t.inputs.bias = tensor(9, {4, 3, 5}); },
           "tangents.bias [4, 3, 5] and bias [4, 1, 5] differ in shape; make them equal"},
          {[](auto&, auto& options) { options.bias = TensorView(); },
           "tangents.bias: there is no bias; leave it out"},
          {[](auto&, auto& options) { options.sinks.clear(); },
           "tangents.sinks: there are no sinks; leave it out"},
          {[](auto& t, auto&) { t.outputs.out = tensor(13, {2, 4, 3, 8}); },
           "outputs.out: shape [2, 4, 3, 8] does not fit query [2, 4, 3, 8] and value [2, 2, 5, "
           "6]; it must be [2, 4, 3, 6]"},
          {[](auto& t, auto&) { t.outputs.lse.dtype = DType::kFloat16; },
           "outputs.lse: type float16 can't hold it; pass float32"},
          {[](auto& t, auto&) { t.outputs.out.dtype = DType::kFloat16; },
           "outputs.out: type float16 does not fit; pass float32 or a type of the inputs"},
          {[](auto& t, auto&) { t.outputs.out.data = const_cast<void*>(t.inputs.d_out.data); },
           "outputs.out [2, 4, 3, 6] and tangents.d_out [2, 4, 3, 6] share memory; pass an output "
           "of its own"},
          {[](auto& t, auto&) { t.gradient.outputs.d_query = tensor(15, {2, 4, 3, 6}); },
           "d_query: shape [2, 4, 3, 6] does not fit query [2, 4, 3, 8] and value [2, 2, 5, 6]; it "
           "must be [2, 4, 3, 8]"},
      };
  for (const auto& [spoil, message] : refusals) {
    TangentProblem t = good_tangents();
    AttentionOptions options = good_options();
    spoil(t, options);
    const Status status = validate(t, options);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << message;
    EXPECT_EQ(status.message(), message);
  }
}

}  // namespace
}  // namespace qkv::test
