#include "command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <vector>

namespace qkv::app {
namespace {

// Insertions, deletions and exchanges that make a of b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string see_help(const CLI::App& app) { return "; see " + app.get_name() + " --help"; }

// Most likely a shell variable that is not set: no reason to compute something else.
void refuse_empty_values(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--") return;
    const bool ends_with_equals = word.starts_with("-") && word.find('=') == word.size() - 1;
    if (!word.empty() && !ends_with_equals) continue;
    if (ends_with_equals) {
      word.remove_suffix(1);
    } else {
      word = i > 1 && argv[i - 1][0] == '-' ? argv[i - 1] : "an argument";
    }
    throw usage(std::string(word) + ": is empty; give it a value, or leave it out");
  }
}

Failure unexpected(const CLI::App& app, const std::string& word) {
  if (!word.starts_with("-")) {
    return usage("unexpected argument \"" + word + "\"" + see_help(app));
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string meant = nearest(name, option_names(app));
  return usage("unknown option " + name +
               (meant.empty() ? see_help(app) : "; did you mean " + meant + "?"));
}

}  // namespace

int exit_code_of(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return kSuccess;
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnsupported:
    case StatusCode::kCallbackFailed:
      return kBadUsage;
    case StatusCode::kOutOfMemory:
      return kNoMemory;
    case StatusCode::kCancelled:
      return kInterrupted;
    case StatusCode::kFileError:
      return kFileTrouble;
  }
  return kBadUsage;
}

void check(const Status& status) {
  if (!status.ok()) throw Failure(exit_code_of(status.code()), status.message());
}

void parse_options(CLI::App& app, const char* examples, int argc, const char* const* argv) {
  refuse_empty_values(argc, argv);
  // Left-over words are refused below, with a better sentence than CLI11's.
  app.allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    throw HelpRequested{help_text(app, examples)};
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();
    if (what.find("flag override") != std::string::npos) {  // "lse was given a disallowed ..."
      throw usage("--" + what.substr(0, what.find(' ')) + ": takes no value" + see_help(app));
    }
    throw usage(what.substr(0, what.find(':')) + ": give it once, with one value" + see_help(app));
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> extras = app.remaining();
    if (!extras.empty()) throw unexpected(app, extras.front());
    throw usage(std::string(error.what()) + see_help(app));
  }
  const std::vector<std::string> extras = app.remaining();
  if (!extras.empty()) throw unexpected(app, extras.front());
}

std::string nearest(std::string_view word, std::span<const std::string> names) {
  if (word.size() > 64) return "";
  std::string best;
  std::size_t best_distance = 3;  // more than two slips are another word
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(word, name);
    if (distance < best_distance && distance < name.size() / 2) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace qkv::app
