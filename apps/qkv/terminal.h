// Words for people: colours and a progress bar where there is a terminal, plain text elsewhere.
#ifndef QKV_APPS_QKV_TERMINAL_H_
#define QKV_APPS_QKV_TERMINAL_H_

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace qkv::app {

enum class Colour { kRed = 31, kGreen = 32, kYellow = 33 };

// `text` in a colour if `stream` is a terminal, NO_COLOR is unset or empty, and TERM is not "dumb".
std::string painted(std::string_view text, Colour colour, std::FILE* stream);

// "1.5 GiB", "317 bytes"
std::string bytes_text(std::uint64_t bytes);

// `text` in one line and in quotes: control characters become '?'.
std::string in_quotes(std::string_view text);

// `text` with U+FFFD in the place of what isn't UTF-8.
std::string as_utf8(std::string_view text);

// "qkv: message" on stderr, in one line.
void print_error(std::string_view message);

// A bar on stderr, if that is a terminal, as soon as the work has taken a second. It is wiped away
// when the Progress ends, so that nothing of it stays on the screen.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `share` of the work is done, 0 to 1. Cheap; not from two threads at once.
  void update(double share);
  // Fits ExecutionOptions::progress; empty if nothing will be shown.
  std::function<void(double)> callback();

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_, next_;
};

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_TERMINAL_H_
