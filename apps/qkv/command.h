// What every subcommand shares: exit codes, failures, and how options are parsed.
#ifndef QKV_APPS_QKV_COMMAND_H_
#define QKV_APPS_QKV_COMMAND_H_

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "qkv/status.h"

namespace CLI {
class App;
}

namespace qkv::app {

enum ExitCode : int {
  kSuccess = 0,
  kCheckFailed = 1,  // diff or verify found a difference
  kBadUsage = 2,     // options or input that don't fit
  kNoMemory = 3,
  kFileTrouble = 4,  // a file can't be read, or may not be written
  kInterrupted = 130,
};

// Ends the command: one sentence for stderr, and the exit code.
class Failure : public std::runtime_error {
 public:
  Failure(int exit_code, const std::string& message)
      : std::runtime_error(message), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

inline Failure usage(const std::string& message) { return {kBadUsage, message}; }

// Thrown when --help was given: `text` goes to stdout, and the command succeeds.
struct HelpRequested {
  std::string text;
};

int exit_code_of(StatusCode code);
// Throws the Failure of a status that is not ok.
void check(const Status& status);

// argv[0] is the subcommand's name; `examples` end its help. Throws HelpRequested, or a Failure
// that names what is wrong.
void parse_options(CLI::App& app, const char* examples, int argc, const char* const* argv);

// What --help prints: description, usage, the options by group, examples; at most 100 columns.
std::string help_text(const CLI::App& app, std::string_view examples);

// The one of `names` that `word` was probably meant to be, or "".
std::string nearest(std::string_view word, std::span<const std::string> names);

// The subcommands. argv[0] is the subcommand's name; the result is the exit code.
int attend(int argc, const char* const* argv);
int diff(int argc, const char* const* argv);
int info(int argc, const char* const* argv);
int lesson(int argc, const char* const* argv);
int train(int argc, const char* const* argv);
int verify(int argc, const char* const* argv);
int bench(int argc, const char* const* argv);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_COMMAND_H_
