// validate() of a backward pass: what it refuses, and in which words.
#include "problem/gradient_problem.h"
#include "problem_test_util.h"

namespace qkv::test {
namespace {

// That of good_problem(), with everything a backward pass can take and give.
struct Call {
  GradientInputs inputs;
  GradientOutputs outputs;
  AttentionOptions options;
};

Call good_call() {
  Call call;
  const Problem p = good_problem();
  call.inputs.query = p.inputs.query;
  call.inputs.key = p.inputs.key;
  call.inputs.value = p.inputs.value;
  call.inputs.d_out = tensor(5, {2, 4, 3, 6});
  call.inputs.d_lse = tensor(6, {2, 4, 3});
  call.inputs.out = tensor(7, {2, 4, 3, 6});
  call.inputs.row_max = tensor(8, {2, 4, 3});
  call.inputs.row_sum = tensor(9, {2, 4, 3});
  call.outputs.d_query = tensor(10, {2, 4, 3, 8});
  call.outputs.d_key = tensor(11, {2, 2, 5, 8});
  call.outputs.d_value = tensor(12, {2, 2, 5, 6});
  call.options.bias = tensor(13, {4, 1, 5});
  call.outputs.d_bias = tensor(14, {4, 1, 5});
  call.options.sinks = {0, 0, 0, 0};
  call.outputs.d_sinks = tensor(15, {4});
  return call;
}

Status status_of(const Call& call) {
  GradientProblem g;
  g.inputs = call.inputs;
  g.outputs = call.outputs;
  return validate(g, call.options);
}

TEST(GradientProblem, TakesAGoodOne) {
  EXPECT_TRUE(status_of(good_call()).ok()) << status_of(good_call()).message();
  Call least;
  least.inputs.query = good_call().inputs.query;
  least.inputs.key = good_call().inputs.key;
  least.inputs.value = good_call().inputs.value;
  EXPECT_TRUE(status_of(least).ok()) << status_of(least).message();
}

TEST(GradientProblem, HasOneNormalForm) {
  const Call call = good_call();
  GradientProblem g;
  g.inputs = call.inputs;
  g.outputs = call.outputs;
  ASSERT_TRUE(validate(g, call.options).ok());
  EXPECT_EQ(g.row_max.extents, (Extents{2, 4, 3, 1}));
  EXPECT_EQ(g.d_bias.extents, (Extents{2, 4, 3, 5}));
  EXPECT_EQ(g.d_bias.strides, (Extents{0, 5, 0, 1}));
  g.inputs.d_lse = g.inputs.d_out = TensorView();
  ASSERT_TRUE(validate(g, call.options).ok());
  EXPECT_EQ(g.d_out.extents, (Extents{2, 4, 3, 6}));
  EXPECT_EQ(g.d_out.strides, Extents{});
  EXPECT_EQ(*static_cast<const float*>(g.d_out.data), 0.0f);
}

TEST(GradientProblem, RefusesInWords) {
  const std::pair<std::function<void(Call&)>, const char*> refusals[] = {
      {[](Call& c) { c.inputs.d_out = tensor(5, {2, 4, 3, 8}); },
       "d_out: shape [2, 4, 3, 8] does not fit query [2, 4, 3, 8] and value [2, 2, 5, 6]; it must "
       "be [2, 4, 3, 6]"},
      {[](Call& c) { c.inputs.d_out.dtype = DType::kInt32; },
       "d_out: type int32 does not fit; pass float32, float16 or bfloat16"},
      {[](Call& c) { c.inputs.d_lse = tensor(6, {2, 4, 3, 1}); },
       "d_lse: shape [2, 4, 3, 1] does not fit query [2, 4, 3, 8] and value [2, 2, 5, 6]; it must "
       "be [2, 4, 3]"},
      {[](Call& c) { c.inputs.out.dtype = DType::kBFloat16; },
       "out: type bfloat16 does not fit; pass float32: gradients start from the result before it "
       "is rounded further"},
      {[](Call& c) { c.inputs.row_sum = TensorView(); },
       "out, row_max, row_sum: one is absent; pass all that the forward call gave (or out and "
       "lse), or none of them"},
      {[](Call& c) { c.inputs.lse = tensor(16, {2, 4, 3}); },
       "lse: it takes the place of row_max and row_sum; leave out either"},
      {[](Call& c) { c.outputs.d_key = tensor(11, {2, 2, 8, 5}); },
       "d_key: shape [2, 2, 8, 5] does not fit query [2, 4, 3, 8] and value [2, 2, 5, 6]; it must "
       "be [2, 2, 5, 8]"},
      {[](Call& c) { c.outputs.d_query.dtype = DType::kFloat16; },
       "d_query: type float16 does not fit; pass float32 or a type of the inputs"},
      {[](Call& c) { c.outputs.d_bias = tensor(14, {4, 3, 5}); },
       "d_bias [4, 3, 5] and bias [4, 1, 5] differ in shape; make them equal"},
      {[](Call& c) { c.options.bias = TensorView(); }, "d_bias: there is no bias; leave it out"},
      {[](Call& c) { c.outputs.d_bias.dtype = DType::kFloat16; },
       "d_bias: type float16 does not fit; pass float32"},
      {[](Call& c) { c.options.sinks.clear(); }, "d_sinks: there are no sinks; leave it out"},
      {[](Call& c) { c.outputs.d_sinks = tensor(15, {2}); },
       "d_sinks: shape [2] for 4 query heads; pass one a head"},
      {[](Call& c) { c.options.score_mod = [](const ScoreTile&) {}; },
       "score_mod_gradient: absent although there is a score_mod; pass its derivative"},
      {[](Call& c) { c.options.score_mod_gradient = [](const ScoreGradientTile&) {}; },
       "score_mod_gradient: there is no score_mod; pass both or none"},
      {[](Call& c) { c.outputs.d_query.data = const_cast<void*>(c.inputs.query.data); },
       "d_query [2, 4, 3, 8] and query [2, 4, 3, 8] share memory; pass an output of its own"},
      {[](Call& c) { c.outputs.d_value.data = c.outputs.d_key.data; },
       "d_key and d_value share memory; pass outputs of their own"},
      {[](Call& c) { c.outputs.d_key.strides[2] = 0; },
       "d_key: elements of shape [2, 2, 5, 8] share memory by their strides; pass an output "
       "without overlap"},
      {[](Call& c) { c.outputs.d_value.data = nullptr; },
       "d_value: null pointer for float32 [2, 2, 5, 6]; pass the address of its first element"},
      {[](Call& c) { c.inputs.key = tensor(2, {2, 2, 5, 7}); },
       "query [2, 4, 3, 8] and key [2, 2, 5, 7] have different sizes d_qk in the last dimension; "
       "make them equal"},
  };
  for (const auto& [spoil, message] : refusals) {
    Call call = good_call();
    spoil(call);
    EXPECT_EQ(status_of(call).code(), StatusCode::kInvalidArgument) << message;
    EXPECT_EQ(status_of(call).message(), message);
  }
}

}  // namespace
}  // namespace qkv::test
