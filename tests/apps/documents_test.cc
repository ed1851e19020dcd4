// The man page and the bash completion know exactly the options that the command has.
#include <map>
#include <regex>
#include <set>

#include "run_command.h"

namespace qkv::app {
namespace {

constexpr const char* kCommands[] = {"attend", "diff",   "info", "lesson",
                                     "train",  "verify", "bench"};

std::set<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (auto i = std::sregex_iterator(text.begin(), text.end(), regex); i != std::sregex_iterator();
       ++i) {
    found.insert((*i)[1]);
  }
  return found;
}

std::string document(const char* name) { return read_text(std::string(QKV_APPS_DIR) + "/" + name); }

std::set<std::string> options_of(const Scratch& scratch, const std::string& command) {
  return matches(run(scratch, {command, "--help"}).out, "\n  (?:-\\w, )?(--[a-z-]+)");
}

TEST(ManPage, HasEveryOption) {
  const Scratch scratch;
  std::string page = document("qkv.1");
  page = std::regex_replace(page, std::regex("\\\\-"), "-");
  for (const char* command : kCommands) {
    const std::size_t begin = page.find(".SS qkv " + std::string(command));
    ASSERT_NE(begin, std::string::npos) << command;
    const std::string section = page.substr(begin, page.find("\n.S", begin + 1) - begin);
    EXPECT_EQ(matches(section, "\n\\.B (?:-\\w, )?(--[a-z-]+)"), options_of(scratch, command))
        << command;
  }
}

TEST(BashCompletion, HasEveryOption) {
  const Scratch scratch;
  const std::string script = "source " + std::string(QKV_APPS_DIR) +
                             "/qkv.bash; COMP_WORDS=(qkv \"$1\" --); COMP_CWORD=2; _qkv; "
                             "printf '%s\\n' \"${COMPREPLY[@]}\"";
  for (const char* command : kCommands) {
    Process process(scratch, {"-c", script, "bash", command}, {}, "/bin/bash");
    const Result result = process.wait();
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(matches("\n" + result.out, "(--[a-z-]+)"), options_of(scratch, command)) << command;
  }
}

TEST(BashCompletion, CompletesValuesAndFiles) {
  Scratch scratch;
  write_lesson(scratch);
  const std::map<std::string, std::string> cases = {{"qkv in", "info\n"},
                                                    {"qkv attend --layout bl", "blhd\n"},
                                                    {"qkv attend --causal = t", "top-left\n"},
                                                    {"qkv bench --dtype b", "bf16\n"},
                                                    {"qkv train sat", "saturation\n"},
                                                    {"qkv train text --text less", "lesson.npz\n"},
                                                    {"qkv attend less", "lesson.npz\n"},
                                                    {"qkv attend --q less", "lesson.npz\n"},
                                                    {"qkv attend --threads x", "\n"}};
  for (const auto& [words, reply] : cases) {
    const std::string script = "source " + std::string(QKV_APPS_DIR) + "/qkv.bash; COMP_WORDS=(" +
                               words + "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _qkv; " +
                               "printf '%s\\n' \"${COMPREPLY[@]}\"";
    Process process(scratch, {"-c", script}, {}, "/bin/bash");
    EXPECT_EQ(process.wait().out, reply) << words;
  }
}

}  // namespace
}  // namespace qkv::app
