// Optimisers against the same formulas in double, step by step.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "qkv/nn.h"

namespace qkv::nn::test {
namespace {

constexpr int kNumbers = 5;

struct Model {
  Model() {
    random::Generator rng(2);
    const std::int64_t shape[] = {kNumbers};
    weight = &parameters.add_normal("weight", shape, 1, rng);
    bias = &parameters.add("bias", shape, false);
  }
  void draw_gradients(random::Generator& rng) {
    for (Parameter& p : parameters.all()) {
      for (int i = 0; i < kNumbers; ++i)
        p.gradient.data<float>()[i] = static_cast<float>(rng.normal());
    }
  }
  Parameters parameters;
  Parameter *weight, *bias;
};

TEST(AdamW, FollowsThePaper) {
  Model model;
  AdamW::Options options;
  options.weight_decay = 0.1f;
  AdamW optimizer(model.parameters, options);
  random::Generator rng(3);
  std::vector<double> x[2], m[2], v[2];
  int n = 0;
  for (const Parameter& p : model.parameters.all()) {
    x[n].assign(p.value.data<float>(), p.value.data<float>() + kNumbers);
    m[n].assign(kNumbers, 0);
    v[n].assign(kNumbers, 0);
    ++n;
  }
  const double rate = 0.01;
  for (int t = 1; t <= 50; ++t) {
    model.draw_gradients(rng);
    n = 0;
    for (const Parameter& p : model.parameters.all()) {
      for (std::size_t i = 0; i < kNumbers; ++i) {
        const double g = static_cast<double>(p.gradient.data<float>()[i]);
        m[n][i] = 0.9 * m[n][i] + 0.1 * g;
        v[n][i] = 0.999 * v[n][i] + 0.001 * g * g;
        const double m_hat = m[n][i] / (1 - std::pow(0.9, t)),
                     v_hat = v[n][i] / (1 - std::pow(0.999, t));
        x[n][i] -= rate * (m_hat / (std::sqrt(v_hat) + 1e-8) + (p.decays ? 0.1 : 0) * x[n][i]);
      }
      ++n;
    }
    optimizer.step(static_cast<float>(rate));
  }
  n = 0;
  for (const Parameter& p : model.parameters.all()) {
    for (std::size_t i = 0; i < kNumbers; ++i) EXPECT_NEAR(p.value.data<float>()[i], x[n][i], 2e-6);
    ++n;
  }
  EXPECT_EQ(optimizer.steps(), 50);
  EXPECT_EQ(optimizer.state()[0].first, "weight.first");
}

TEST(Sgd, HasMomentum) {
  Model model;
  Sgd optimizer(model.parameters, 0.5f);
  const float before = model.weight->value.data<float>()[0];
  for (int t = 0; t < 2; ++t) {
    model.weight->gradient.data<float>()[0] = 2;
    optimizer.step(0.25f);
  }
  EXPECT_EQ(model.weight->value.data<float>()[0], before - 0.25f * 2 - 0.25f * 3);
}

TEST(CosineSchedule, RisesAndFalls) {
  EXPECT_FLOAT_EQ(cosine_schedule(0, 10, 110, 1), 0.1f);
  EXPECT_FLOAT_EQ(cosine_schedule(9, 10, 110, 1), 1);
  EXPECT_FLOAT_EQ(cosine_schedule(10, 10, 110, 1), 1);
  EXPECT_FLOAT_EQ(cosine_schedule(60, 10, 110, 1, 0.2f), 0.6f);
  EXPECT_FLOAT_EQ(cosine_schedule(110, 10, 110, 1, 0.2f), 0.2f);
  EXPECT_FLOAT_EQ(cosine_schedule(500, 10, 110, 1, 0.2f), 0.2f);
}

TEST(ClipGradients, KeepsTheDirection) {
  Model model;
  model.parameters.clear_gradients();
  model.weight->gradient.data<float>()[1] = 3;
  model.bias->gradient.data<float>()[2] = -4;
  EXPECT_DOUBLE_EQ(clip_gradients(model.parameters, 10), 5);
  EXPECT_EQ(model.weight->gradient.data<float>()[1], 3);
  EXPECT_DOUBLE_EQ(clip_gradients(model.parameters, 1), 5);
  EXPECT_FLOAT_EQ(model.weight->gradient.data<float>()[1], 0.6f);
  EXPECT_FLOAT_EQ(model.bias->gradient.data<float>()[2], -0.8f);
}

TEST(Parameters, HaveNames) {
  Model model;
  EXPECT_EQ(model.parameters.count(), 2 * kNumbers);
  EXPECT_EQ(model.parameters.find("bias"), model.bias);
  EXPECT_EQ(model.parameters.find("other"), nullptr);
  model.parameters.add("bias", std::vector<std::int64_t>{1}, true);
  EXPECT_EQ(model.parameters.status().message(),
            "parameters: the name \"bias\" is taken; give another");
}

// A shape that can't be had is an error in status(), and harmless otherwise.
TEST(Parameters, WithoutTensorsHarmNothing) {
  Parameters parameters;
  random::Generator rng(0);
  Parameter& none = parameters.add_normal("none", std::vector<std::int64_t>{-3, 2}, 1, rng);
  Parameter& one = parameters.add("one", std::vector<std::int64_t>{1}, true);
  EXPECT_EQ(parameters.status().message(),
            "shape: [-3, 2] has a negative extent; extents are 0 or more");
  EXPECT_FALSE(none.value.defined() || none.gradient.defined());
  EXPECT_EQ(parameters.count(), 1);
  AdamW adam(parameters);
  Sgd sgd(parameters);
  parameters.clear_gradients();
  *one.gradient.data<float>() = 2;
  EXPECT_EQ(clip_gradients(parameters, 10), 2);
  adam.step(0);
  sgd.step(0.5f);
  EXPECT_EQ(*one.value.data<float>(), -1);
}

TEST(Optimizers, ChangeParametersAddedLater) {
  const std::vector<std::int64_t> shape = {1};
  Parameters parameters;
  Parameter& first = parameters.add("first", shape, false);
  AdamW adam(parameters);
  Sgd sgd(parameters, 0.5f);
  Parameter& later = parameters.add("later", shape, false);
  for (Parameter* p : {&first, &later}) *p->gradient.data<float>() = 2;
  sgd.step(0.5f);
  EXPECT_EQ(*later.value.data<float>(), -1);
  adam.step(0.25f);  // its first step is the learning rate, whatever the gradient
  EXPECT_FLOAT_EQ(*later.value.data<float>(), -1.25f);
  EXPECT_EQ(*first.value.data<float>(), *later.value.data<float>());
  EXPECT_EQ(adam.state().size(), 4u);
  EXPECT_EQ(sgd.state()[1].first, "later.velocity");
}

}  // namespace
}  // namespace qkv::nn::test
