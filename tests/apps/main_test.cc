// The command as a whole: help, version, unknown words, info.
#include "qkv/contract.h"
#include "qkv/cpu.h"
#include "run_command.h"

namespace qkv::app {
namespace {

using ::testing::HasSubstr;

constexpr const char* kCommands[] = {"attend", "diff", "info", "lesson", "verify", "bench"};

TEST(Main, Help) {
  const Scratch scratch;
  for (const Arguments& words : {Arguments{"--help"}, Arguments{"-h"}, Arguments{"help"}}) {
    const Result result = run(scratch, words);
    expect_success(result);
    for (const char* command : kCommands) EXPECT_THAT(result.out, HasSubstr(command));
    EXPECT_THAT(result.out, HasSubstr("Examples:"));
  }
}

TEST(Main, HelpOfEveryCommand) {
  const Scratch scratch;
  for (const char* command : kCommands) {
    const Result result = run(scratch, {command, "--help"});
    expect_success(result);
    EXPECT_THAT(result.out, HasSubstr("Examples:\n  qkv " + std::string(command)));
    EXPECT_EQ(run(scratch, {"help", command}).out, result.out);
    for (std::size_t begin = 0; begin < result.out.size();) {
      const std::size_t end = result.out.find('\n', begin);
      EXPECT_LE(end - begin, 100u) << result.out.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

TEST(Main, Version) {
  const Scratch scratch;
  const Result result = run(scratch, {"--version"});
  expect_success(result);
  EXPECT_EQ(result.out, "qkv " + std::string(version()) + "\n");
}

TEST(Main, UnknownWords) {
  const Scratch scratch;
  expect_failure(run(scratch, {}), 2, {"no command", "--help"});
  expect_failure(run(scratch, {"atend"}), 2, {"atend", "did you mean attend"});
  expect_failure(run(scratch, {"frobnicate"}), 2, {"frobnicate", "--help"});
  expect_failure(run(scratch, {"help", "frobnicate"}), 2, {"frobnicate"});
  expect_failure(run(scratch, {"info", "more"}), 2, {"unexpected", "more"});
}

TEST(Main, StandardOutputThatCantBeWritten) {
  const Scratch scratch;
  for (const char* words : {"info", "attend --help", "verify --list"}) {
    const std::string script = std::string(QKV_COMMAND) + " " + words + " > /dev/full";
    Process process(scratch, {"-c", script}, {}, "/bin/sh");
    expect_failure(process.wait(), 4, {"standard output can't be written: No space"});
  }
}

TEST(Info, Json) {
  const Scratch scratch;
  const Result result = run(scratch, {"info", "--json"}, {"QKV_ISA="});
  expect_success(result);
  const nlohmann::json json = parsed(result.out);
  EXPECT_EQ(json["version"], std::string(version()));
  EXPECT_EQ(json["contract"]["span"], contract().span);
  EXPECT_EQ(json["kernels"].size(), built_isas().size());
  EXPECT_EQ(json["kernels"][0]["isa"], std::string(name_of(built_isas()[0])));
  EXPECT_EQ(json["isa"], std::string(name_of(usable_isas().back())));
  EXPECT_GE(json["threads"]["available"], 1);
}

TEST(Info, FollowsTheEnvironment) {
  const Scratch scratch;
  EXPECT_EQ(parsed(run(scratch, {"info", "--json"}, {"QKV_ISA=portable"}).out)["isa"], "portable");
  expect_failure(run(scratch, {"info"}, {"QKV_ISA=sse9"}), 2, {"QKV_ISA", "sse9"});
}

TEST(Info, Text) {
  const Scratch scratch;
  const Result result = run(scratch, {"info"});
  expect_success(result);
  for (const char* part : {"version", "contract", "cpu", "kernels", "threads", "portable"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
}

}  // namespace
}  // namespace qkv::app
