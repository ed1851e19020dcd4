// Instruction sets: their names, which ones there are, and which one a call really uses.
#include <cstdlib>
#include <optional>

#include "api/attention_test_util.h"

namespace qkv::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Sets QKV_ISA while it lives.
class ForcedIsa {
 public:
  explicit ForcedIsa(const std::string& name) {
    if (const char* before = std::getenv("QKV_ISA")) before_ = before;
    ::setenv("QKV_ISA", name.c_str(), 1);
  }
  ~ForcedIsa() {
    if (before_) {
      ::setenv("QKV_ISA", before_->c_str(), 1);
    } else {
      ::unsetenv("QKV_ISA");
    }
  }
  ForcedIsa(const ForcedIsa&) = delete;

 private:
  std::optional<std::string> before_;
};

PlanDescription describe_plan(Isa isa = Isa::kBest, DType dtype = DType::kFloat32) {
  const Array q(dtype, {3, 4}, {1});
  Array out(dtype, {3, 4});
  AttentionOutputs outputs;
  outputs.out = out;
  ExecutionOptions execution;
  execution.isa = isa;
  AttentionPlan plan({q, q, q}, outputs, {}, execution);
  plan.run();
  for (double value : out.values()) EXPECT_EQ(value, 1.0);
  return plan.description();
}

std::string usable_names() {
  std::string names;
  for (Isa isa : usable_isas()) names += (names.empty() ? "" : ", ") + std::string(name_of(isa));
  return names;
}

TEST(Isa, NamesAndBack) {
  const std::pair<Isa, std::string_view> all[] = {{Isa::kBest, "best"},
                                                  {Isa::kPortable, "portable"},
                                                  {Isa::kNeon, "neon"},
                                                  {Isa::kAvx2, "avx2"},
                                                  {Isa::kAvx512, "avx512"}};
  for (const auto& [isa, name] : all) {
    EXPECT_EQ(name_of(isa), name);
    Isa back = isa == Isa::kBest ? Isa::kPortable : Isa::kBest;
    EXPECT_TRUE(isa_from_name(name, back));
    EXPECT_EQ(back, isa);
  }
  Isa unchanged = Isa::kNeon;
  for (std::string_view name : {"", "AVX2", "avx", "avx2 ", "sse"}) {
    EXPECT_FALSE(isa_from_name(name, unchanged)) << name;
    EXPECT_EQ(unchanged, Isa::kNeon);
  }
}

TEST(Isa, UsableOnesAreBuiltAndPortableIsAlwaysOne) {
  const std::vector<Isa> built = built_isas(), some = usable_isas();
  ASSERT_FALSE(some.empty());
  EXPECT_EQ(some.front(), Isa::kPortable);  // the slowest first
  EXPECT_TRUE(std::is_sorted(built.begin(), built.end()));
  EXPECT_TRUE(std::includes(built.begin(), built.end(), some.begin(), some.end()));
#if defined(__x86_64__)
  EXPECT_EQ(built, (std::vector<Isa>{Isa::kPortable, Isa::kAvx2, Isa::kAvx512}));
  __builtin_cpu_init();
  EXPECT_EQ(usable(Isa::kAvx2), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                                    __builtin_cpu_supports("f16c") &&
                                    __builtin_cpu_supports("bmi2"));
#endif
  EXPECT_FALSE(cpu_name().empty());
}

TEST(Isa, TheOptionDecides) {
  for (Isa isa : built_isas()) {
    if (usable(isa)) {
      const PlanDescription d = describe_plan(isa);
      EXPECT_EQ(d.isa, isa);
      EXPECT_THAT(d.kernel, StartsWith(std::string(name_of(isa))));
    } else {
      EXPECT_THROW(describe_plan(isa), Unsupported);
    }
  }
  EXPECT_EQ(describe_plan(Isa::kBest, DType::kFloat64).isa, Isa::kPortable);
  EXPECT_THAT(describe_plan(Isa::kBest, DType::kFloat64).kernel, HasSubstr("float64"));
}

TEST(Isa, WithoutTheVariableTheFastestIsUsed) {
  const ForcedIsa none("");
  EXPECT_EQ(describe_plan().isa, usable_isas().back());
}

TEST(Isa, TheVariableDecidesWhereTheOptionDoesNot) {
  for (Isa isa : usable_isas()) {
    const ForcedIsa forced{std::string(name_of(isa))};
    const PlanDescription d = describe_plan();
    EXPECT_EQ(d.isa, isa);
    EXPECT_THAT(d.kernel, StartsWith(std::string(name_of(isa))));
    for (Isa named : usable_isas()) EXPECT_EQ(describe_plan(named).isa, named);
  }
  const ForcedIsa best("best");
  EXPECT_EQ(describe_plan().isa, usable_isas().back());
}

TEST(Isa, UnknownNamesAreRefused) {
  for (const char* name : {"sse9", "AVX2", " ", "avx512,avx2"}) {
    const ForcedIsa forced(name);
    try {
      describe_plan();
      ADD_FAILURE() << name;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.what(), "QKV_ISA: \"" + std::string(name) +
                                  "\" is no instruction set of qkv; use one of " + usable_names());
    }
  }
}

Isa another_machines() {
#if defined(__aarch64__)
  return Isa::kAvx2;
#else
  return Isa::kNeon;
#endif
}

TEST(Isa, OnesOfOtherMachinesAreUnsupported) {
  const std::string name(name_of(another_machines()));
  try {
    describe_plan(another_machines());
    ADD_FAILURE();
  } catch (const Unsupported& error) {
    EXPECT_EQ(
        error.what(),
        "isa: " + name + " is not in this build or not in this CPU; use one of " + usable_names());
  }
}

// The message names what the user set: the variable, not an argument that nobody gave.
TEST(Isa, OnesOfOtherMachinesInTheVariableAreUnsupportedByItsName) {
  const std::string name(name_of(another_machines()));
  const ForcedIsa forced(name);
  try {
    describe_plan();
    ADD_FAILURE();
  } catch (const Unsupported& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("QKV_ISA"), HasSubstr(name), HasSubstr(usable_names())));
  }
}

}  // namespace
}  // namespace qkv::test
