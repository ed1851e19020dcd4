#include "numbers.h"

#include <fmt/core.h>

#include <charconv>
#include <system_error>

#include "command.h"
#include "terminal.h"

namespace qkv::app {
namespace {

enum class Parsed { kNumber, kOutOfRange, kOther };

template <class T>
Parsed parse(std::string_view text, T& number) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::invalid_argument || stop != end) return Parsed::kOther;
  return error == std::errc() ? Parsed::kNumber : Parsed::kOutOfRange;
}

Failure out_of_range(std::string_view option, std::string_view text) {
  return usage(fmt::format("{}: {} is out of range", option, in_quotes(text)));
}

template <class T>
T parse_one(std::string_view option, std::string_view text, const char* what) {
  T number{};
  switch (parse(text, number)) {
    case Parsed::kNumber:
      return number;
    case Parsed::kOutOfRange:
      throw out_of_range(option, text);
    case Parsed::kOther:
      break;
  }
  throw usage(fmt::format("{}: {} is not {}", option, in_quotes(text), what));
}

template <class T>
bool parse_list(std::string_view option, std::string_view text, std::vector<T>& numbers) {
  numbers.clear();
  std::string_view beyond;
  for (std::string_view part : split(text, ',')) {
    T number{};
    const Parsed parsed = parse(part, number);
    if (parsed == Parsed::kOther) return false;
    if (parsed == Parsed::kOutOfRange) beyond = part;
    numbers.push_back(number);
  }
  if (!beyond.empty()) throw out_of_range(option, beyond);
  return true;
}

}  // namespace

std::int64_t parse_integer(std::string_view option, std::string_view text) {
  return parse_one<std::int64_t>(option, text, "a whole number");
}

double parse_double(std::string_view option, std::string_view text) {
  return parse_one<double>(option, text, "a number");
}

float parse_float(std::string_view option, std::string_view text) {
  return parse_one<float>(option, text, "a number");
}

int parse_threads(std::string_view text) {
  constexpr std::int64_t kMost = 1024;
  const std::int64_t threads = parse_integer("--threads", text);
  if (threads < 0 || threads > kMost) {
    throw usage(
        fmt::format("--threads: {} is out of range; pass 1 to {}, or 0 for all", threads, kMost));
  }
  return static_cast<int>(threads);
}

DType parse_dtype(std::string_view option, std::string_view text) {
  DType dtype{};
  if (dtype_from_name(text, dtype)) return dtype;
  throw usage(fmt::format("{}: {} is no element type; use float32, float16, bfloat16 or float64",
                          option, in_quotes(text)));
}

Isa parse_isa(std::string_view text) {
  Isa isa{};
  if (isa_from_name(text, isa)) return isa;
  std::string names = "best";
  for (Isa usable : usable_isas()) names += ", " + std::string(name_of(usable));
  throw usage(
      fmt::format("--isa: {} is no instruction set of qkv; use one of {}", in_quotes(text), names));
}

bool parse_integers(std::string_view option, std::string_view text,
                    std::vector<std::int64_t>& numbers) {
  return parse_list(option, text, numbers);
}

bool parse_floats(std::string_view option, std::string_view text, std::vector<float>& numbers) {
  return parse_list(option, text, numbers);
}

std::vector<IndexRange> parse_ranges(std::string_view option, std::string_view text) {
  std::vector<IndexRange> ranges;
  if (text == "all") return ranges;
  for (std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-', 1);
    IndexRange range{};
    const Parsed first = parse(part.substr(0, dash), range.first);
    const Parsed last =
        dash == std::string_view::npos ? first : parse(part.substr(dash + 1), range.last);
    if (dash == std::string_view::npos) range.last = range.first;
    if (first != Parsed::kNumber || last != Parsed::kNumber || range.first < 0 ||
        range.last < range.first) {
      throw usage(fmt::format("{}: {} is not an index or a range; write for example 0,2-5, or all",
                              option, in_quotes(part)));
    }
    ranges.push_back(range);
  }
  return ranges;
}

std::vector<std::int64_t> expand(std::string_view option, const std::vector<IndexRange>& ranges,
                                 std::int64_t count) {
  std::vector<std::int64_t> indices;
  for (const IndexRange& range : ranges) {
    if (range.last >= count) {
      throw usage(fmt::format("{}: {} is not among the {} there are; count from 0", option,
                              range.last, count));
    }
    for (std::int64_t i = range.first; i <= range.last; ++i) indices.push_back(i);
  }
  return indices;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

}  // namespace qkv::app
