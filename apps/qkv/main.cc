// The command `qkv`: chooses the subcommand, and turns failures into exit codes.
#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

#include "command.h"
#include "interrupt.h"
#include "qkv/contract.h"
#include "qkv/error.h"
#include "terminal.h"

namespace qkv::app {
namespace {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(int argc, const char* const* argv);
};

constexpr Command kCommands[] = {
    {"attend", "Compute attention from files to a file", attend},
    {"diff", "Compare the arrays of two files, to the bit", diff},
    {"info", "Show this CPU, the kernels and the arithmetic contract", info},
    {"lesson", "Show the lesson: attention explained, in the browser or as text", lesson},
    {"train", "Train small models that show what attention learns", train},
    {"verify", "Check that every kernel gives the right bits on this machine", verify},
    {"bench", "Measure the speed on this machine", bench},
};

void print_help() {
  fmt::print(
      "qkv {}: exact, reproducible attention for CPUs\n\n"
      "Usage: qkv COMMAND [OPTION]...\n\nCommands:\n",
      version());
  for (const Command& command : kCommands)
    fmt::print("  {:<9} {}\n", command.name, command.summary);
  fmt::print(
      "\n  qkv COMMAND --help   options and examples of a command\n"
      "  qkv --version        the version\n\n"
      "Examples:\n"
      "  qkv attend qkv.npz -o out.npz --causal\n"
      "  qkv diff out.npz expected.npz\n"
      "  qkv verify\n\n"
      "Exit codes: 0 success, 1 a check failed, 2 bad options or input, 3 out of memory,\n"
      "4 a file can't be read or written, 130 interrupted.\n");
}

int run_command(int argc, const char* const* argv) {
  if (argc < 2) throw usage("no command given; see qkv --help");
  const std::string_view first = argv[1];
  if (first == "--help" || first == "-h" || (first == "help" && argc == 2)) {
    print_help();
    return kSuccess;
  }
  if (first == "--version" || first == "-V") {
    fmt::print("qkv {}\n", version());
    return kSuccess;
  }
  const bool help = first == "help";
  const std::string_view name = help ? argv[2] : argv[1];
  for (const Command& command : kCommands) {
    if (name != command.name) continue;
    const char* const help_arguments[] = {command.name, "--help"};
    return help ? command.run(2, help_arguments) : command.run(argc - 1, argv + 1);
  }
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  const std::string meant = nearest(name, names);
  throw usage("unknown command " + in_quotes(name) +
              (meant.empty() ? "; see qkv --help" : "; did you mean " + meant + "?"));
}

// Runs the command; every way to fail becomes one sentence and an exit code.
int guarded(int argc, const char* const* argv) {
  std::string message;
  int code = kBadUsage;
  try {
    return run_command(argc, argv);
  } catch (const HelpRequested& help) {
    fmt::print("{}", help.text);
    return kSuccess;
  } catch (const Failure& failure) {
    message = failure.what();
    code = failure.exit_code();
  } catch (const OutOfMemory& error) {
    message = error.what();
    code = kNoMemory;
  } catch (const FileError& error) {
    message = error.what();
    code = kFileTrouble;
  } catch (const std::bad_alloc&) {
    message = "out of memory; use fewer threads, or a smaller problem";
    code = kNoMemory;
  } catch (const std::system_error& error) {
    // fmt::print() throws it; elsewhere it is a thread that could not be started.
    const bool output = std::ferror(stdout) != 0;
    message = output ? std::string("standard output can't be written: ") : std::string();
    message += std::strerror(error.code().value());
    code = output ? kFileTrouble : kNoMemory;
  } catch (const std::exception& error) {
    message = error.what();
  }
  // Whatever failed after Ctrl-C failed because of it; one that says so has its own words.
  if (const int interrupted = interrupt_exit_code(); interrupted != 0 && code != interrupted) {
    message = "interrupted; nothing was written";
    code = interrupted;
  }
  print_error(message);
  return code;
}

}  // namespace
}  // namespace qkv::app

int main(int argc, char** argv) {
  qkv::app::handle_interrupts();
  const int code = qkv::app::guarded(argc, argv);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    qkv::app::print_error(std::string("standard output can't be written: ") + std::strerror(errno));
    return code == 0 ? qkv::app::kFileTrouble : code;
  }
  return code;
}
