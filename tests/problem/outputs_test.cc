// Outputs: shapes, types, selections, memory.
#include "problem/problem_test_util.h"

namespace qkv::test {
namespace {

Problem with_all_outputs() {
  Problem p = good_problem();
  p.outputs.lse = tensor(5, {2, 4, 3});
  p.outputs.weights = tensor(6, {2, 4, 3, 5});
  return p;
}

Problem packed_with_all_outputs() {
  Problem p = packed_problem();
  p.outputs.lse = tensor(5, {4, 6});
  p.outputs.weights = tensor(6, {4, 6, 7});
  return p;
}

TEST(Outputs, AnyMayBeAbsent) {
  for (int which = 0; which < 8; ++which) {
    Problem p = with_all_outputs();
    if (which & 1) p.outputs.out = {};
    if (which & 2) p.outputs.lse = {};
    if (which & 4) p.outputs.weights = {};
    expect_good(p);
  }
}

TEST(Outputs, ShapesFollowFromTheInputs) {
  const std::string why = " does not fit query [2, 4, 3, 8] and value [2, 2, 5, 6]; it must be ";
  expect_refused(
      {
          {[](Problem& p) { p.outputs.out = tensor(4, {2, 4, 3, 8}); },
           "out: shape [2, 4, 3, 8]" + why + "[2, 4, 3, 6]"},
          {[](Problem& p) { p.outputs.out = tensor(4, {4, 3, 6}); },
           "out: shape [4, 3, 6]" + why + "[2, 4, 3, 6]"},
          {[](Problem& p) { p.outputs.lse = tensor(5, {2, 4, 3, 1}); },
           "lse: shape [2, 4, 3, 1]" + why + "[2, 4, 3]"},
          {[](Problem& p) { p.outputs.lse = tensor(5, {2, 2, 3}); },
           "lse: shape [2, 2, 3]" + why + "[2, 4, 3]"},
          {[](Problem& p) { p.outputs.weights = tensor(6, {2, 4, 5, 3}); },
           "weights: shape [2, 4, 5, 3]" + why + "[2, 4, 3, 5]"},
          {[](Problem& p) { p.outputs.out = tensor(4, {1, 2, 4, 3, 6}); },
           "out: rank 5 is too large; pass 4 dimensions at most"},
          {[](Problem& p) { p.outputs.lse = tensor(5, {2, 4, -3}); },
           "lse: shape [2, 4, -3] has a negative extent; extents are 0 or more"},
      },
      with_all_outputs);
  const std::string packed = " does not fit query [6, 4, 8] and value [7, 2, 6]; it must be ";
  expect_refused(
      {
          {[](Problem& p) { p.outputs.out = tensor(4, {4, 6, 6}); },
           "out: shape [4, 6, 6]" + packed + "[6, 4, 6]"},
          {[](Problem& p) { p.outputs.lse = tensor(5, {6, 4}); },
           "lse: shape [6, 4]" + packed + "[4, 6]"},
          {[](Problem& p) { p.outputs.weights = tensor(6, {6, 4, 7}); },
           "weights: shape [6, 4, 7]" + packed + "[4, 6, 7]"},
      },
      packed_with_all_outputs);
}

TEST(Outputs, LowerRanks) {
  Problem p;
  p.inputs = {tensor(1, {4, 3, 8}), tensor(2, {2, 5, 8}), tensor(3, {2, 5, 6})};
  p.outputs.out = tensor(4, {4, 3, 6});
  p.outputs.lse = tensor(5, {4, 3});
  p.outputs.weights = tensor(6, {4, 3, 5});
  expect_good(p);
  p.inputs = {tensor(1, {3, 8}), tensor(2, {5, 8}), tensor(3, {5, 6})};
  p.outputs.out = tensor(4, {3, 6});
  p.outputs.lse = tensor(5, {3});
  p.outputs.weights = tensor(6, {3, 5});
  expect_good(p);
  p.outputs.lse = tensor(5, {1, 3});
  EXPECT_EQ(message_of(p),
            "lse: shape [1, 3] does not fit query [3, 8] and value [5, 6]; it must be [3]");
}

TEST(Outputs, TypesFollowFromTheInputs) {
  expect_refused(
      {
          {[](Problem& p) { p.outputs.out.dtype = DType::kFloat64; },
           "out: type float64 does not fit float32 inputs; pass float32 or a type of the inputs"},
          {[](Problem& p) { p.outputs.out.dtype = DType::kInt32; },
           "out: type int32 does not fit float32 inputs; pass float32 or a type of the inputs"},
          {[](Problem& p) { p.outputs.weights.dtype = DType::kFloat16; },
           "weights: type float16 does not fit float32 inputs; pass float32 or a type of the "
           "inputs"},
          {[](Problem& p) { p.outputs.lse.dtype = DType::kFloat16; },
           "lse: type float16 can't hold it; pass float32"},
          {[](Problem& p) { p.outputs.lse.dtype = DType::kFloat64; },
           "lse: type float64 can't hold it; pass float32"},
      },
      with_all_outputs);
  Problem p = of_type(DType::kFloat64);
  p.outputs.lse = tensor(5, {2, 4, 3}, DType::kBFloat16);
  EXPECT_EQ(message_of(p), "lse: type bfloat16 can't hold it; pass float32 or float64");
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    p.outputs.lse = tensor(5, {2, 4, 3}, dtype);
    p.outputs.out.dtype = dtype;
    expect_good(p);
  }
  p = of_type(DType::kFloat16);
  p.inputs.value.dtype = DType::kBFloat16;  // mixed: any of them, and float32
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    p.outputs.out.dtype = dtype;
    expect_good(p);
  }
}

TEST(Outputs, SelectionsAreCounted) {
  expect_refused(
      {
          {[](Problem& p) { p.outputs.selection.heads = {0, 4}; },
           "selection.heads: 4 is not among the 4 there are; count from 0"},
          {[](Problem& p) { p.outputs.selection.heads = {-1}; },
           "selection.heads: -1 is not among the 4 there are; count from 0"},
          {[](Problem& p) { p.outputs.selection.rows = {3}; },
           "selection.rows: 3 is not among the 3 there are; count from 0"},
          {[](Problem& p) { p.outputs.selection.heads = {1, 1}; },
           "weights: shape [2, 4, 3, 5] does not fit query [2, 4, 3, 8] and value [2, 2, 5, 6]; it "
           "must be [2, 2, 3, 5]"},
          {[](Problem& p) { p.outputs.selection.rows = {2}; },
           "weights: shape [2, 4, 3, 5] does not fit query [2, 4, 3, 8] and value [2, 2, 5, 6]; it "
           "must be [2, 4, 1, 5]"},
      },
      with_all_outputs);
  Problem p = with_all_outputs();
  p.outputs.selection = {{3, 0, 0}, {2}};
  p.outputs.weights = tensor(6, {2, 3, 1, 5});
  expect_good(p);
  p.outputs.weights = {};  // without weights a selection selects nothing
  expect_good(p);
}

// ---- Memory -------------------------------------------------------------------------------------

TEST(Outputs, MayNotOverlapInputs) {
  const auto at = [](MutableTensorView view, const void* data) {
    view.data = const_cast<void*>(data);
    return view;
  };
  expect_refused(
      {
          {[&](Problem& p) { p.outputs.out = at(p.outputs.out, p.inputs.query.data); },
           "out [2, 4, 3, 6] and query [2, 4, 3, 8] share memory; pass an output of its own"},
          {[&](Problem& p) { p.outputs.out = at(p.outputs.out, p.inputs.key.data); },
           "out [2, 4, 3, 6] and key [2, 2, 5, 8] share memory; pass an output of its own"},
          {[&](Problem& p) { p.outputs.weights = at(p.outputs.weights, p.inputs.value.data); },
           "weights [2, 4, 3, 5] and value [2, 2, 5, 6] share memory; pass an output of its own"},
          {[&](Problem& p) {
             p.options.bias = tensor(9, {2, 4, 3, 5});
             p.outputs.weights = at(p.outputs.weights, p.options.bias.data);
           },
           "weights [2, 4, 3, 5] and bias [2, 4, 3, 5] share memory; pass an output of its own"},
          {[&](Problem& p) {
             p.options.mask = tensor(9, {2, 4, 3, 5}, DType::kBool);
             p.outputs.out = at(p.outputs.out, static_cast<const char*>(place(9)) + 116);
           },
           "out [2, 4, 3, 6] and mask [2, 4, 3, 5] share memory; pass an output of its own"},
          {[&](Problem& p) {  // the last element of the key
             p.outputs.out = at(p.outputs.out, static_cast<const char*>(p.inputs.key.data) +
                                                   2 * 2 * 5 * 8 * 4 - 4);
           },
           "out [2, 4, 3, 6] and key [2, 2, 5, 8] share memory; pass an output of its own"},
      },
      with_all_outputs);
  Problem p = with_all_outputs();
  p.outputs.out.data = static_cast<char*>(place(2)) + 2 * 2 * 5 * 8 * 4;  // right behind the key
  expect_good(p);
}

TEST(Outputs, MayNotOverlapEachOther) {
  const auto share = [](MutableTensorView AttentionOutputs::* a,
                        MutableTensorView AttentionOutputs::* b) {
    return [a, b](Problem& p) { (p.outputs.*b).data = (p.outputs.*a).data; };
  };
  using O = AttentionOutputs;
  expect_refused(
      {
          {share(&O::out, &O::lse), "out and lse share memory; pass outputs of their own"},
          {share(&O::out, &O::weights), "out and weights share memory; pass outputs of their own"},
          {share(&O::lse, &O::weights), "lse and weights share memory; pass outputs of their own"},
      },
      with_all_outputs);
}

TEST(Outputs, MayNotOverlapThemselves) {
  expect_refused(
      {
          {[](Problem& p) { p.outputs.out.strides[0] = 0; },
           "out: elements of shape [2, 4, 3, 6] share memory by their strides; pass an output "
           "without overlap"},
          {[](Problem& p) { p.outputs.weights.strides[2] = 4; },
           "weights: elements of shape [2, 4, 3, 5] share memory by their strides; pass an output "
           "without overlap"},
      },
      with_all_outputs);
  Problem p = good_problem();  // one fused buffer, written and read in turns
  p.inputs.query.strides = {4 * 3 * 14, 3 * 14, 14, 1};
  p.outputs.out.strides = p.inputs.query.strides;
  p.outputs.out.data = static_cast<char*>(place(1)) + 8 * 4;
  expect_good(p);
}

TEST(Outputs, NullPointersAreRefused) {
  const std::pair<const char*, MutableTensorView AttentionOutputs::*> all[] = {
      {"out", &AttentionOutputs::out},
      {"lse", &AttentionOutputs::lse},
      {"weights", &AttentionOutputs::weights}};
  for (const auto& [name, member] : all) {
    Problem p = with_all_outputs();
    (p.outputs.*member).data = nullptr;
    EXPECT_EQ(validate(p).code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(message_of(p), ::testing::StartsWith(std::string(name) + ": null pointer for "));
    EXPECT_THAT(message_of(p), names_and_advises(name));
  }
}

// lse has no fourth dimension, whatever its normal form has.
TEST(Outputs, LseIsReportedInTheCallersShape) {
  Problem p = with_all_outputs();
  p.outputs.lse.data = nullptr;
  EXPECT_THAT(message_of(p), ::testing::HasSubstr("float32 [2, 4, 3]"));
  p = with_all_outputs();
  p.outputs.lse.strides = {0, 0, 1, 0};
  EXPECT_EQ(message_of(p),
            "lse: elements of shape [2, 4, 3] share memory by their strides; pass an output "
            "without overlap");
}

TEST(Outputs, EmptyOutputsNeedNoMemory) {
  Problem p = with_all_outputs();
  p.inputs.query = tensor(1, {2, 4, 0, 8});
  p.outputs.out = MutableTensorView(nullptr, DType::kFloat32, Shape{2, 4, 0, 6});
  p.outputs.lse = MutableTensorView(nullptr, DType::kFloat32, Shape{2, 4, 0});
  p.outputs.weights = MutableTensorView(nullptr, DType::kFloat32, Shape{2, 4, 0, 5});
  expect_good(p);
}

}  // namespace
}  // namespace qkv::test
