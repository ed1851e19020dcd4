// Gradients by the C interface: the bits of the C++ one, and what is refused.
#include "qkv/gradient.h"

#include "c/in_c.h"
#include "qkv/matmul.h"
#include "support/random_gradient.h"

namespace qkv::test {
namespace {

// The structs of a backward call.
struct GradientInC {
  explicit GradientInC(const GradientProblem& g)
      : forward({g.inputs.query, g.inputs.key, g.inputs.value}, {}, g.forward.options) {
    qkv_gradient_inputs_init(&inputs);
    qkv_gradient_outputs_init(&outputs);
    const std::pair<const qkv_tensor**, TensorView> all[] = {
        {&inputs.query, g.inputs.query},     {&inputs.key, g.inputs.key},
        {&inputs.value, g.inputs.value},     {&inputs.d_out, g.inputs.d_out},
        {&inputs.d_lse, g.inputs.d_lse},     {&inputs.out, g.inputs.out},
        {&inputs.row_max, g.inputs.row_max}, {&inputs.row_sum, g.inputs.row_sum},
        {&inputs.lse, g.inputs.lse},         {&outputs.d_query, g.outputs.d_query},
        {&outputs.d_key, g.outputs.d_key},   {&outputs.d_value, g.outputs.d_value},
        {&outputs.d_bias, g.outputs.d_bias}, {&outputs.d_sinks, g.outputs.d_sinks}};
    for (std::size_t n = 0; n < std::size(all); ++n) {
      *all[n].first = InC::set(tensors[n], all[n].second);
    }
  }
  InC forward;  // its options
  qkv_gradient_inputs inputs;
  qkv_gradient_outputs outputs;
  qkv_tensor tensors[14];
};

TEST(CGradients, HaveTheBitsOfCpp) {
  for (std::uint64_t seed = 70'000'000; seed < 70'000'150; ++seed) {
    RandomGradient random(seed, small_limits());
    const GradientProblem& g = random.gradient();
    random.clear_outputs();
    attention_gradients(g.inputs, g.outputs, g.forward.options);
    const std::vector<std::byte> expected = random.output_bytes();
    const GradientInC c(g);
    random.clear_outputs();
    EXPECT_OK(qkv_attention_gradients(&c.inputs, &c.outputs, &c.forward.options, nullptr));
    EXPECT_TRUE(random.output_bytes() == expected) << random.description();

    qkv_gradient_plan* plan = nullptr;
    EXPECT_OK(qkv_gradient_plan_create(&c.inputs, &c.outputs, &c.forward.options, nullptr, &plan));
    qkv_plan_description description;
    qkv_plan_description_init(&description);
    EXPECT_OK(qkv_gradient_plan_describe(plan, &description));
    std::vector<std::byte> workspace(static_cast<std::size_t>(description.workspace_bytes));
    random.clear_outputs();
    EXPECT_OK(qkv_gradient_plan_run(plan, workspace.data(), description.workspace_bytes));
    EXPECT_TRUE(random.output_bytes() == expected) << random.description();
    qkv_gradient_plan_destroy(plan);
  }
}

TEST(CGradients, SayWhatIsWrong) {
  const RandomGradient random(70'000'000, small_limits());
  GradientInC c(random.gradient());
  EXPECT_FAILS(qkv_attention_gradients(nullptr, &c.outputs, nullptr, nullptr), QKV_INVALID_ARGUMENT,
               "inputs: null pointer; pass query, key and value");
  EXPECT_FAILS(qkv_attention_gradients(&c.inputs, nullptr, nullptr, nullptr), QKV_INVALID_ARGUMENT,
               "outputs: null pointer; pass d_query, d_key, d_value or some of them");
  c.forward.options.dropout = 1.5;
  EXPECT_FAILS(qkv_attention_gradients(&c.inputs, &c.outputs, &c.forward.options, nullptr),
               QKV_INVALID_ARGUMENT, "dropout.probability: 1.5 is out of range; pass 0 to 1");
  qkv_gradient_plan_destroy(nullptr);
}

TEST(CGradients, ProductsOverRowsAreThoseOfCpp) {
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, -1, 2};
  float product[2];
  const qkv_tensor left = tensor_in_c(a, DType::kFloat32, {3, 2}),
                   right = tensor_in_c(b, DType::kFloat32, {3, 1}),
                   out = tensor_in_c(product, DType::kFloat32, {2, 1});
  EXPECT_OK(qkv_matmul_over_rows(&left, &right, &out, nullptr));
  EXPECT_EQ(product[0], 1 - 3 + 10);
  EXPECT_EQ(product[1], 2 - 4 + 12);
}

}  // namespace
}  // namespace qkv::test
