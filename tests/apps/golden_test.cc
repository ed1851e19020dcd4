// qkv verify, and the table it stands on.
#include "golden.h"

#include <set>

#include "run_command.h"

namespace qkv::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Golden, TableIsThatOfTheScalarProgram) {
  const Scratch scratch;
  Process process(scratch, {}, {}, QKV_MAKE_GOLDEN);
  const Result result = process.wait();
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, read_text(std::string(QKV_APPS_DIR) + "/golden.inc"));
}

TEST(Golden, ProblemsDiffer) {
  EXPECT_GE(golden_count(), 40);
  std::set<std::string_view> names;
  std::set<std::uint64_t> hashes;
  for (const GoldenHash& golden : golden_hashes()) {
    names.insert(golden.name);
    hashes.insert(golden.hash);
  }
  EXPECT_EQ(static_cast<int>(names.size()), golden_count());
  EXPECT_EQ(static_cast<int>(hashes.size()), golden_count());
}

TEST(Golden, HashSeesEveryByte) {
  std::vector<float> out(3, 1.0f), lse(2, 2.0f);
  AttentionOutputs outputs;
  outputs.out = MutableTensorView(out.data(), {3});
  outputs.lse = MutableTensorView(lse.data(), {2});
  const std::uint64_t before = hash_of(outputs);
  lse[1] = std::nextafterf(2.0f, 3.0f);
  EXPECT_NE(hash_of(outputs), before);
  lse[1] = 2.0f;
  out[0] = -1.0f;
  EXPECT_NE(hash_of(outputs), before);
}

TEST(Verify, EveryKernelHasTheRightBits) {
  const Scratch scratch;
  const Result result = run(scratch, {"verify"});
  expect_success(result);
  EXPECT_THAT(result.out, HasSubstr("equal bits"));
  EXPECT_THAT(result.out, Not(HasSubstr("DIFFER")));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));  // no colours in a file
}

TEST(Verify, Json) {
  const Scratch scratch;
  const Result result = run(scratch, {"verify", "--json", "--isa", "portable"});
  expect_success(result);
  const nlohmann::json json = parsed(result.out);
  EXPECT_EQ(json["equal"], true);
  EXPECT_EQ(json["problems"], golden_count());
  EXPECT_EQ(json["runs"].size(), 3u);
  EXPECT_EQ(json["runs"][2]["threads"], 4);
}

TEST(Verify, List) {
  const Scratch scratch;
  const Result result = run(scratch, {"verify", "--list"});
  expect_success(result);
  EXPECT_EQ(std::ranges::count(result.out, '\n'), golden_count());
  const nlohmann::json json = parsed(run(scratch, {"verify", "--list", "--json"}).out);
  EXPECT_EQ(static_cast<int>(json["problems"].size()), golden_count());
}

TEST(Verify, FindsADamagedKernel) {
  const Scratch scratch;
  const Result result = run(scratch, {"verify", "--break", "exp"});
#ifdef QKV_BREAKABLE
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("DIFFER"));
  EXPECT_THAT(result.out, Not(HasSubstr("equal bits")));
#else
  expect_failure(result, 2, {"--break", "QKV_BREAKABLE"});
#endif
  expect_failure(run(scratch, {"verify", "--break", "tanh"}), 2, {"--break", "tanh", "exp"});
}

TEST(Verify, Errors) {
  const Scratch scratch;
  expect_failure(run(scratch, {"verify", "--isa", "sse9"}), 2, {"--isa", "sse9"});
#if defined(__x86_64__)
  expect_failure(run(scratch, {"verify", "--isa", "neon"}), 2, {"neon"});
#endif
}

}  // namespace
}  // namespace qkv::app
