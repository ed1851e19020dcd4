// rebind(): a validated problem on other memory.
#include "problem/problem_test_util.h"

namespace qkv::test {
namespace {

Problem validated() {
  Problem p = good_problem();
  p.outputs.lse = tensor(5, {2, 4, 3});
  p.outputs.weights = tensor(6, {2, 1, 3, 5});
  p.outputs.selection.heads = {2};
  const Status status = validate(p);
  EXPECT_TRUE(status.ok()) << status.message();
  return p;
}

TEST(Rebind, MovesEveryTensor) {
  Problem p = validated();
  AttentionInputs in = p.inputs;
  AttentionOutputs out = p.outputs;
  in.query.data = place(11);
  in.key.data = place(12);
  in.value.data = place(13);
  out.out.data = place(14);
  out.lse.data = place(15);
  out.weights.data = place(16);
  ASSERT_TRUE(rebind(p, in, out).ok());
  EXPECT_EQ(p.query.data, place(11));
  EXPECT_EQ(p.key.data, place(12));
  EXPECT_EQ(p.value.data, place(13));
  EXPECT_EQ(p.out.data, place(14));
  EXPECT_EQ(p.lse.data, place(15));
  EXPECT_EQ(p.weights.data, place(16));
  EXPECT_EQ(p.weights.extents, (Extents{2, 1, 3, 5}));
}

TEST(Rebind, RefusesOtherTypesShapesAndStrides) {
  const auto refused = [](const std::function<void(AttentionInputs&, AttentionOutputs&)>& change,
                          const std::string& message) {
    Problem p = validated();
    AttentionInputs in = p.inputs;
    AttentionOutputs out = p.outputs;
    change(in, out);
    const Status status = rebind(p, in, out);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), message);
  };
  refused([](AttentionInputs& in, AttentionOutputs&) { in.query = tensor(1, {2, 4, 4, 8}); },
          "query: float32 [2, 4, 4, 8] differs in type, shape or strides from the planned float32 "
          "[2, 4, 3, 8]; plan anew");
  refused([](AttentionInputs& in, AttentionOutputs&) { in.key.dtype = DType::kFloat16; },
          "key: float16 [2, 2, 5, 8] differs in type, shape or strides from the planned float32 "
          "[2, 2, 5, 8]; plan anew");
  refused([](AttentionInputs& in, AttentionOutputs&) { in.value = {}; },
          "value: (absent) differs in type, shape or strides from the planned float32 [2, 2, 5, "
          "6]; plan anew");
  refused([](AttentionInputs&, AttentionOutputs& out) { out.out = tensor(4, {4, 3, 6}); },
          "out: float32 [4, 3, 6] differs in type, shape or strides from the planned float32 [2, "
          "4, 3, 6]; plan anew");
  refused([](AttentionInputs&, AttentionOutputs& out) { out.lse = {}; },
          "lse: (absent) differs in type, shape or strides from the planned float32 [2, 4, 3]; "
          "plan anew");
  refused([](AttentionInputs&, AttentionOutputs& out) { out.weights.strides[3] = 2; },
          "weights: float32 [2, 1, 3, 5] differs in type, shape or strides from the planned "
          "float32 [2, 1, 3, 5]; plan anew");
}

TEST(Rebind, RefusesAnotherSelection) {
  Problem p = validated();
  AttentionOutputs out = p.outputs;
  out.selection.heads = {3};
  const Status status = rebind(p, p.inputs, out);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), ::testing::StartsWith("selection"));
}

TEST(Rebind, ChecksTheMemory) {
  Problem p = validated();
  AttentionOutputs out = p.outputs;
  out.out.data = p.inputs.query.data == nullptr ? nullptr : place(1);
  EXPECT_EQ(rebind(p, p.inputs, out).message(),
            "out [2, 4, 3, 6] and query [2, 4, 3, 8] share memory; pass an output of its own");
  p = validated();
  AttentionInputs in = p.inputs;
  in.key.data = nullptr;
  EXPECT_THAT(rebind(p, in, p.outputs).message(), ::testing::StartsWith("key: null pointer"));
}

// "Bad input: nothing was computed or written": the problem too is as it was.
TEST(Rebind, ARefusalChangesNothing) {
  Problem p = validated();
  AttentionInputs in = p.inputs;
  in.query.data = place(11);
  in.key.data = nullptr;
  EXPECT_FALSE(rebind(p, in, p.outputs).ok());
  EXPECT_EQ(p.query.data, place(1));
  EXPECT_EQ(p.key.data, place(2));
  EXPECT_EQ(p.inputs.key.data, place(2));
}

}  // namespace
}  // namespace qkv::test
