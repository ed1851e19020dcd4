// Problems with so many rows that tiles run together and share strips of keys: the bits of exact,
// for every instruction set and several thread counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/exact/exact.h"
#include "qkv/random.h"
#include "tensor/float16.h"

namespace qkv::test {
namespace {

constexpr std::int64_t kHeads = 4, kKeyHeads = 2, kLength = 1300, kSize = 8;

struct Case {
  const char* name;
  std::function<void(Problem&, random::Generator&)> change;
};

class ManyTiles : public testing::TestWithParam<Case> {
 protected:
  static std::vector<float> normal(random::Generator& rng, std::int64_t count) {
    std::vector<float> numbers;
    for (std::int64_t n = 0; n < count; ++n) numbers.push_back(static_cast<float>(rng.normal()));
    return numbers;
  }
};

TEST_P(ManyTiles, HaveTheBitsOfExact) {
  random::Generator rng(11);
  const std::vector<float> q = normal(rng, kHeads * kLength * kSize),
                           k = normal(rng, kKeyHeads * kLength * kSize),
                           v = normal(rng, kKeyHeads * kLength * kSize);
  std::vector<float> out(q.size(), 7.0f), lse(kHeads * kLength, 7.0f);
  Problem p;
  p.inputs = {{q.data(), {1, kHeads, kLength, kSize}},
              {k.data(), {1, kKeyHeads, kLength, kSize}},
              {v.data(), {1, kKeyHeads, kLength, kSize}}};
  p.outputs.out = {out.data(), {1, kHeads, kLength, kSize}};
  p.outputs.lse = {lse.data(), {1, kHeads, kLength}};
  GetParam().change(p, rng);
  const Status status = validate(p);
  ASSERT_TRUE(status.ok()) << status.message();
  exact::attention(p);
  const std::vector<float> want_out = out, want_lse = lse;
  for (Isa isa : usable_isas()) {
    for (int threads : {1, 2, 3}) {
      std::fill(out.begin(), out.end(), 7.0f);
      std::fill(lse.begin(), lse.end(), 7.0f);
      ExecutionOptions execution;
      execution.isa = isa;
      execution.threads = threads;
      AttentionPlan plan(p.inputs, p.outputs, p.options, execution);
      // Fewer tasks than tiles: they do run together.
      EXPECT_LT(plan.description().tasks * plan.description().rows_per_tile, kHeads * kLength);
      plan.run();
      EXPECT_EQ(std::memcmp(out.data(), want_out.data(), out.size() * sizeof(float)), 0)
          << name_of(isa) << " " << threads;
      EXPECT_EQ(std::memcmp(lse.data(), want_lse.data(), lse.size() * sizeof(float)), 0)
          << name_of(isa) << " " << threads;
    }
  }
}

std::vector<float> g_bias;
std::vector<std::uint8_t> g_mask;
std::vector<std::uint16_t> g_halves;

const Case kCases[] = {
    {"plain", [](Problem&, random::Generator&) {}},
    {"causal", [](Problem& p, random::Generator&) { p.options.causal = true; }},
    {"window",
     [](Problem& p, random::Generator&) {
       p.options.causal = true;
       p.options.window.left = 200;
       p.options.sinks = {0.0f, 1.0f, -1.0f, 2.0f};
     }},
    {"bias",
     [](Problem& p, random::Generator& rng) {
       g_bias.clear();
       for (std::int64_t n = 0; n < kLength * kLength; ++n) {
         g_bias.push_back(static_cast<float>(rng.normal()));
       }
       p.options.bias = {g_bias.data(), {kLength, kLength}};
     }},
    {"mask",
     [](Problem& p, random::Generator& rng) {
       g_mask.clear();
       for (std::int64_t n = 0; n < kLength * kLength; ++n) g_mask.push_back(rng.random() < 0.4);
       p.options.mask = {g_mask.data(), DType::kBool, {kLength, kLength}};
     }},
    {"float16_keys",
     [](Problem& p, random::Generator& rng) {
       g_halves.clear();
       for (std::int64_t n = 0; n < kKeyHeads * kLength * kSize; ++n) {
         g_halves.push_back(float_to_float16(static_cast<float>(rng.normal())));
       }
       p.inputs.key = {g_halves.data(), DType::kFloat16, {1, kKeyHeads, kLength, kSize}};
     }},
    {"blhd",
     [](Problem& p, random::Generator&) {
       TensorView& key = p.inputs.key;
       key = TensorView(key.data, key.dtype, {1, kLength, kKeyHeads, kSize}).transposed(1, 2);
     }},
};

INSTANTIATE_TEST_SUITE_P(Cases, ManyTiles, testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace qkv::test
