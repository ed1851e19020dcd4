// What --help prints.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "command.h"

namespace qkv::app {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kColumn = 32;  // where the descriptions of options begin

// "-o, --output OUT", "--causal[=OFFSET]", "INPUT"
std::string heading(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  std::string names;
  for (const std::string& name : option.get_snames()) names += "-" + name + ", ";
  for (const std::string& name : option.get_lnames()) names += "--" + name + ", ";
  names.resize(names.size() - 2);
  const std::string& value = option.get_option_text();
  if (value.empty()) return names;
  return names + (value.starts_with("[=") ? "" : " ") + value;
}

// `text` in lines that begin at kColumn, but for the first, which continues `first`.
std::string wrapped(const std::string& first, const std::string& text) {
  std::string result = first;
  std::size_t column = first.size();
  const auto new_line = [&] {
    result += "\n" + std::string(kColumn, ' ');
    column = kColumn;
  };
  if (column + 2 > kColumn) {
    new_line();
  } else {
    result += std::string(kColumn - column, ' ');
    column = kColumn;
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (column > kColumn && column + 1 + word.size() > kWidth) new_line();
    if (column > kColumn) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
    begin = end + 1;
  }
  return result + "\n";
}

}  // namespace

std::string help_text(const CLI::App& app, std::string_view examples) {
  std::string usage = "Usage: " + app.get_name();
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      usage += option->get_required() ? " " + option->get_name(true)
                                      : " [" + option->get_name(true) + "]";
    }
    const bool known = std::ranges::find(groups, option->get_group()) != groups.end();
    if (!known && option != app.get_help_ptr()) groups.push_back(option->get_group());
  }
  std::string text = usage + " [OPTION]...\n\n" + app.get_description() + "\n";
  for (const std::string& group : groups) {
    text += "\n" + group + ":\n";
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() != group || option == app.get_help_ptr()) continue;
      text += wrapped("  " + heading(*option), option->get_description());
    }
  }
  text += wrapped("  -h, --help", "Print this help and exit");
  return text + "\nExamples:\n" + std::string(examples) + "\n";
}

}  // namespace qkv::app
