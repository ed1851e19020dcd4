#include "run_command.h"

namespace qkv::app {
namespace {

using ::testing::HasSubstr;

TEST(Bench, Json) {
  const Scratch scratch;
  const Result result = run(scratch, {"bench", "--op", "forward", "--shape", "1,4,32,48,16,24",
                                      "--kv-heads", "2", "--dtype", "f16", "--causal", "--threads",
                                      "1", "--isa", "portable", "--repeat", "3", "--json"});
  expect_success(result);
  const nlohmann::json json = parsed(result.out);
  EXPECT_EQ(json["shape"], nlohmann::json::array({1, 4, 32, 48, 16, 24}));
  EXPECT_EQ(json["kv_heads"], 2);
  EXPECT_EQ(json["dtype"], "float16");
  EXPECT_EQ(json["causal"], true);
  EXPECT_EQ(json["isa"], "portable");
  EXPECT_EQ(json["threads"], 1);
  EXPECT_EQ(json["repeat"], 3);
  const double median = json["median_s"], least = json["min_s"], gflops = json["gflops"];
  EXPECT_GT(least, 0);
  EXPECT_GE(median, least);
  // Row i of 32 sees i + 17 of 48 keys: 32 * 17 + 31 * 16 pairs a head, times 2 * (16 + 24).
  const double flops = 4 * (32 * 17 + 31 * 16) * 2.0 * (16 + 24);
  EXPECT_NEAR(gflops * median * 1e9 / flops, 1, 1e-9);
  const double peak = json["peak_gflops"], share = json["peak_share"];
  EXPECT_NEAR(share, gflops / peak, 1e-9 * share);
}

TEST(Bench, Text) {
  const Scratch scratch;
  const Result result =
      run(scratch, {"bench", "--shape", "1,1,8,8,8", "--repeat", "2", "--dtype", "bf16"});
  expect_success(result);
  for (const char* part : {"bfloat16", "median", "GFLOP/s", "of peak"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
}

TEST(Bench, Errors) {
  const Scratch scratch;
  const auto fails = [&](Arguments more, std::initializer_list<std::string_view> parts) {
    more.insert(more.begin(), "bench");
    expect_failure(run(scratch, more), 2, parts);
  };
  fails({"--op", "sideways"}, {"--op", "sideways"});
  fails({"--shape", "1,2,3"}, {"--shape", "B,H,Lq,Lk,D"});
  fails({"--shape", "1,2,0,4,5"}, {"--shape"});
  fails({"--kv-heads", "3"}, {"--kv-heads", "3"});
  fails({"--kv-heads", "0"}, {"--kv-heads", "0"});
  fails({"--dtype", "float64"}, {"--dtype", "float64"});
  fails({"--repeat", "0"}, {"--repeat", "0"});
  fails({"--threads", "x"}, {"--threads", "x"});
  expect_failure(run(scratch, {"bench", "--shape", "1,1,1000000000,1,1000000000"}), 3, {"memory"});
}

}  // namespace
}  // namespace qkv::app
