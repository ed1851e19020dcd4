#include "terminal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace qkv::app {
namespace {

bool use_colour(std::FILE* stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return ::isatty(::fileno(stream)) != 0;
}

// Unlike fmt::print(), doesn't throw if standard error can't be written: there is no one to tell.
void put(const std::string& text) { (void)std::fputs(text.c_str(), stderr); }

std::string without_control_characters(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return result;
}

}  // namespace

std::string painted(std::string_view text, Colour colour, std::FILE* stream) {
  if (!use_colour(stream)) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", static_cast<int>(colour), text);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; amount >= 1023.95 && unit + 1 < std::size(kUnits); ++unit) amount /= 1024;
  return fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  if (text.size() > kLongest) {
    return '"' + without_control_characters(text.substr(0, kLongest)) + "...\"";
  }
  return '"' + without_control_characters(text) + '"';
}

std::string as_utf8(std::string_view text) {
  using Json = nlohmann::json;
  const std::string quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

void print_error(std::string_view message) {
  put(painted("qkv:", Colour::kRed, stderr) + " " + without_control_characters(message) + "\n");
}

Progress::Progress(std::string what)
    : what_(std::move(what)),
      terminal_(::isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      next_(start_ + std::chrono::seconds(1)) {}

Progress::~Progress() {
  if (!drawn_) return;
  put("\r\x1b[K");
  std::fflush(stderr);
}

void Progress::update(double share) {
  const Clock::time_point now = Clock::now();
  if (!terminal_ || now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  drawn_ = true;
  constexpr int kWidth = 30;
  const double done = std::clamp(share, 0.0, 1.0);
  const int filled = static_cast<int>(std::floor(done * kWidth));
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::string left;
  if (done > 0.01) left = fmt::format(", {:.0f} s left", std::ceil(elapsed * (1 - done) / done));
  put(fmt::format("\r\x1b[K{} [{}{}] {:3.0f} %{}", what_, std::string(filled, '#'),
                  std::string(kWidth - filled, '.'), std::floor(done * 100), left));
  std::fflush(stderr);
}

std::function<void(double)> Progress::callback() {
  if (!terminal_) return {};
  return [this](double share) { update(share); };
}

}  // namespace qkv::app
