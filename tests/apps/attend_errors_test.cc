// qkv attend: every way to fail has an exit code and one sentence, and leaves no file.
#include <sys/stat.h>

#include <fstream>

#include "run_command.h"

namespace qkv::app {
namespace {

using ::testing::ElementsAre;

class AttendErrors : public ::testing::Test {
 protected:
  AttendErrors() { write_lesson(scratch); }
  Result attend(Arguments more) {
    Arguments arguments = {"attend", "lesson.npz", "-o", "out.npz"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(scratch, arguments);
  }
  Scratch scratch;
};

TEST_F(AttendErrors, BadOptions) {
  struct Case {
    Arguments more;
    std::initializer_list<std::string_view> parts;
  };
  const Case cases[] = {
      {{"--nonsense"}, {"--nonsense", "--help"}},
      {{"--forse"}, {"--forse", "did you mean --force"}},
      {{"another.npz"}, {"unexpected argument", "another.npz"}},
      {{"--scale"}, {"--scale", "--help"}},
      {{"--scale", "1", "--scale", "2"}, {"--scale"}},
      {{"--layout", "lbhd"}, {"--layout", "lbhd", "bhld"}},
      {{"--causal=middle"}, {"--causal", "middle", "top-left"}},
      {{"--causal=1,2"}, {"--causal", "--query-offset"}},
      {{"--causal=top-left", "--query-offset", "3"}, {"--causal", "--query-offset"}},
      {{"--window", "-2,0"}, {"--window", "-2", "-1"}},
      {{"--window", "3"}, {"--window", "LEFT,RIGHT"}},
      {{"--window", "3,"}, {"--window", "LEFT,RIGHT"}},
      {{"--window", "a,b"}, {"--window", "\"a\""}},
      {{"--scale", "big"}, {"--scale", "big"}},
      {{"--scale", "1e400"}, {"--scale", "out of range"}},
      {{"--scale", "inf"}, {"--scale: inf", "finite"}},
      {{"--softcap", "-1"}, {"--softcap: -1 must"}},
      {{"--softcap", "nan"}, {"softcap"}},
      {{"--sinks", "1,2"}, {"--sinks: 2 logits for 1"}},
      {{"--sinks", "nan"}, {"sinks"}},
      {{"--alibi=1,2"}, {"--alibi: 2 slopes for 1"}},
      {{"--arithmetic", "exact"}, {"--arithmetic", "exact"}},
      {{"--dtype", "float8"}, {"--dtype", "float8"}},
      {{"--dtype", "float16"}, {"--dtype", "float16"}},
      {{"--out-dtype", "float16"}, {"out", "float16"}},
      {{"--threads", "-1"}, {"--threads", "-1"}},
      {{"--threads", "1000000"}, {"--threads", "1000000"}},
      {{"--threads", "two"}, {"--threads", "two"}},
      {{"--isa", "sse9"}, {"--isa", "sse9", "portable"}},
      {{"--weights", "0"}, {"--weights", "HEADS:ROWS"}},
      {{"--weights", "0:3-1"}, {"--weights", "3-1"}},
      {{"--weights", "0:1"}, {"--weights", "1 is not among the 1"}},
      {{"--weights", "0-99999999999999:0"}, {"--weights", "not among"}},
      {{"--weights", "0:99999999999999999999"}, {"--weights"}},
      {{"--key-lengths", "4"}, {"--key-lengths: entry 0 is 4"}},
      {{"--key-lengths", "99999999999999999999"}, {"--key-lengths", "out of range"}},
      {{"--key-lengths", "nowhere"}, {"--key-lengths", "nowhere", "lesson.npz"}},
      {{"--key-lengths", "q"}, {"--key-lengths", "whole numbers"}},
      {{"--key-cu-seqlens", "0,3"}, {"--key-cu-seqlens", "--cu-seqlens"}},
      {{"--cu-seqlens", "0,3", "--layout", "bhld"}, {"--layout"}},
      {{"--cu-seqlens", "0,3"}, {"[total, heads, d]"}},
      {{"--mask", "k"}, {"mask"}},
      {{"--mask", "more.npz:ones"}, {"--mask", "bool", "--bias"}},
      {{"--mask", ""}, {"--mask: is empty"}},
      {{"--threads", ""}, {"--threads: is empty"}},
      {{"--window="}, {"--window: is empty"}},
      {{"--causal="}, {"--causal: is empty"}},
      {{"--lse=0"}, {"--lse: takes no value"}},
      {{"--json=false"}, {"--json: takes no value"}},
      {{"--cu-seqlens", "0,2,1", "--q", "more.npz:t", "--k", "more.npz:t", "--v", "more.npz:t"},
       {"--cu-seqlens"}},
      {{"--q", "nothing"}, {"--q", "nothing", "q, k, v"}},
  };
  write_arrays(scratch / "more.npz", {{"ones", tensor<float>({1, 3}, {1, 0, 1})},
                                      {"t", tensor<float>({2, 1, 2}, {1, 2, 3, 4})}});
  for (const Case& each : cases) {
    SCOPED_TRACE(::testing::PrintToString(each.more));
    expect_failure(attend(each.more), 2, each.parts);
    EXPECT_THAT(scratch.names(), ElementsAre("lesson.npz", "more.npz"));
  }
}

TEST_F(AttendErrors, WhatIsMissing) {
  expect_failure(run(scratch, {"attend", "lesson.npz"}), 2, {"-o", "--explain"});
  expect_failure(run(scratch, {"attend", "-o", "out.npz"}), 2, {"INPUT", "--q --k --v"});
  expect_failure(run(scratch, {"attend", "--q", "a", "--k", "b", "--v", "c", "-o", "out.npz"}), 2,
                 {"--q", "no INPUT"});
  write_arrays(scratch / "one.npy", {{"", lesson_query()}});
  expect_failure(run(scratch, {"attend", "one.npy", "-o", "out.npz"}), 2,
                 {"--q", "one.npy", "nameless", "--q, --k and --v"});
  write_arrays(scratch / "few.npz", {{"q", lesson_query()}, {"kk", lesson_key()}});
  expect_failure(run(scratch, {"attend", "few.npz", "-o", "out.npz"}), 2, {"--k", "q, kk"});
}

TEST_F(AttendErrors, ShapesThatDontFit) {
  write_arrays(scratch / "k.npy", {{"", tensor<float>({3, 3}, std::vector<float>(9, 1.0f))}});
  expect_failure(attend({"--k", "k.npy"}), 2, {"[1, 2]", "[3, 3]", "d_qk"});
}

TEST_F(AttendErrors, EmptyList) {
  write_arrays(scratch / "none.npy", {{"", tensor<std::int64_t>({0}, {})}});
  expect_failure(attend({"--key-lengths", "none.npy"}), 2, {"--key-lengths", "empty"});
}

TEST_F(AttendErrors, ArraysThatTheOutputCantHold) {
  expect_failure(run(scratch, {"attend", "lesson.npz", "-o", "out.npy", "--lse"}), 2,
                 {"out.npy", "--lse", ".npz"});
  expect_failure(run(scratch, {"attend", "lesson.npz", "-o", "out.txt"}), 2,
                 {"out.txt", ".safetensors"});
}

TEST_F(AttendErrors, FilesThatCantBeRead) {
  std::ofstream(scratch / "bad.npz") << "no archive";
  expect_failure(run(scratch, {"attend", "bad.npz", "-o", "out.npz"}), 4, {"INPUT", "bad.npz"});
  expect_failure(run(scratch, {"attend", "gone.npz", "-o", "out.npz"}), 4, {"gone.npz"});
  expect_failure(attend({"--bias", "gone.npy"}), 4, {"--bias", "gone.npy"});
}

TEST_F(AttendErrors, ExistingOutputIsRefusedAndKept) {
  write_arrays(scratch / "out.npz", {{"x", lesson_key()}});
  const std::string before = read_text(scratch / "out.npz");
  // Refused before the input is looked at.
  expect_failure(run(scratch, {"attend", "gone.npz", "-o", "out.npz"}), 4,
                 {"out.npz", "exists", "--force"});
  expect_failure(attend({}), 4, {"out.npz", "exists", "--force"});
  EXPECT_EQ(read_text(scratch / "out.npz"), before);
  expect_success(attend({"--force"}));
  EXPECT_EQ(read_array(scratch / "out.npz", "out").rank(), 2);
  // A failing run leaves the old file, with --force too.
  const std::string after = read_text(scratch / "out.npz");
  expect_failure(attend({"--force", "--sinks", "1,2"}), 2, {"sinks"});
  EXPECT_EQ(read_text(scratch / "out.npz"), after);
  // --force does not reach the inputs, by whatever name.
  const std::string input = read_text(scratch / "lesson.npz");
  for (const char* name : {"lesson.npz", "./lesson.npz"}) {
    expect_failure(run(scratch, {"attend", "lesson.npz", "-o", name, "--force"}), 2,
                   {"-o", name, "one of the inputs"});
  }
  EXPECT_EQ(read_text(scratch / "lesson.npz"), input);
}

TEST_F(AttendErrors, PlacesWhereNoFileCanBe) {
  expect_failure(run(scratch, {"attend", "lesson.npz", "-o", "no/where/out.npz"}), 4, {"no/where"});
  ASSERT_EQ(::mkdir((scratch / "dir.npz").c_str(), 0700), 0);
  expect_failure(run(scratch, {"attend", "lesson.npz", "-o", "dir.npz", "--force"}), 4,
                 {"dir.npz", "not a regular file"});
}

TEST_F(AttendErrors, OutOfMemory) {
  // 2^62 bytes of output from zero-sized keys: [2^40, 0] times [0, 2^20] values.
  const std::int64_t rows = std::int64_t{1} << 40, columns = std::int64_t{1} << 19;
  Tensor query, key, value;
  for (const auto& [shape, target] :
       {std::pair<std::vector<std::int64_t>, Tensor*>{{rows, 0}, &query},
        {{0, 0}, &key},
        {{0, columns}, &value}}) {
    ASSERT_TRUE(allocate(DType::kFloat32, shape, *target).ok());
  }
  write_arrays(scratch / "huge.npz", {{"q", query}, {"k", key}, {"v", value}});
  expect_failure(run(scratch, {"attend", "huge.npz", "-o", "out.npz"}), 3, {"memory"});
  EXPECT_THAT(scratch.names(), ElementsAre("huge.npz", "lesson.npz"));
}

TEST_F(AttendErrors, HostileNamesStayInOneLine) {
  expect_failure(attend({"--q", "a\nb\x1b[31m"}), 2, {"a?b?[31m"});
}

}  // namespace
}  // namespace qkv::app
