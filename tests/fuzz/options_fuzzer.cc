// Any words as the options of `qkv attend`: a request or one sentence, never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "attend_options.h"
#include "command.h"

// Words end at a zero byte or a line end.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> words = {"attend", ""};
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == 0 || data[i] == '\n') {
      words.emplace_back();
    } else {
      words.back() += static_cast<char>(data[i]);
    }
  }
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  try {
    const auto request = qkv::app::parse_attend(static_cast<int>(argv.size()), argv.data());
    // What parsing promises to those who use a request.
    if (request.output.empty() && !request.explain) std::abort();
    if (request.window.left && *request.window.left < 0) std::abort();
    if (request.threads < 0 || request.threads > 1024) std::abort();
  } catch (const qkv::app::Failure& failure) {
    if (std::string(failure.what()).empty()) std::abort();
    if (failure.exit_code() != qkv::app::kBadUsage) std::abort();
  } catch (const qkv::app::HelpRequested& help) {
    if (help.text.empty()) std::abort();
  }
  return 0;
}
