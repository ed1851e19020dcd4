// qkv lesson: the lesson page in the browser, as a file, or as text in the terminal.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <thread>

#include "command.h"
#include "interrupt.h"
#include "lesson_page.h"
#include "lesson_server.h"
#include "lesson_text.h"
#include "terminal.h"

namespace qkv::app {
namespace {

// Always the same, so that a saved address works again; another if it is taken.
constexpr int kUsualPort = 7860;

std::string_view page() {
  if (!lesson_page().empty()) return lesson_page();
  throw Failure(kBadUsage,
                "this command was built without the lesson page; run `make web`, which writes "
                "build/web/lesson.html, and build again. `qkv lesson --text all` needs no page");
}

Failure write_trouble(const std::string& path) {
  return {kFileTrouble, in_quotes(path) + " can't be written: " + std::strerror(errno)};
}

// All of the page or nothing: into a file beside it first.
void write_page(const std::string& path, bool force) {
  const std::string_view text = page();
  // lstat: a link that leads nowhere is there too.
  struct stat there = {};
  if (::lstat(path.c_str(), &there) == 0) {
    if (!S_ISREG(there.st_mode)) {
      throw Failure(kFileTrouble, in_quotes(path) + " is no regular file; pass another name");
    }
    if (!force) {
      throw Failure(kFileTrouble,
                    in_quotes(path) + " is there already; pass --force to replace it");
    }
  }
  std::string part = path + ".XXXXXX";
  const int file = ::mkstemp(part.data());
  if (file < 0) throw write_trouble(path);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const bool complete = done == text.size() && ::fchmod(file, 0666 & ~mask) == 0;
  if (::close(file) != 0 || !complete || ::rename(part.c_str(), path.c_str()) != 0) {
    const Failure trouble = write_trouble(path);
    ::unlink(part.c_str());
    throw trouble;
  }
  fmt::print("wrote {} ({}): one file that works offline\n", path, bytes_text(text.size()));
}

void serve(int port, bool given, bool open) {
  const std::string_view text = page();
  const CancelScope scope;  // Ctrl-C is how it ends
  const auto ready = [open](const std::string& address) {
    fmt::print("the lesson is at {} (Ctrl-C ends it)\n", address);
    if (std::fflush(stdout) != 0) throw Failure(kFileTrouble, "standard output can't be written");
    if (!open) return;
    // The browser may wait for the page, which is served after this.
    std::thread([address] {
      if (!open_browser(address)) {
        fmt::print(stderr, "no browser could be opened; open the address yourself\n");
      }
    }).detach();
  };
  if (serve_page(text, port, scope.flag(), ready)) return;
  if (given) {
    throw usage("--port: " + std::to_string(port) +
                " is taken or not allowed; pass another, or 0 for any free one");
  }
  if (!serve_page(text, 0, scope.flag(), ready)) {
    throw Failure(kFileTrouble, "there is no free port on 127.0.0.1");
  }
}

}  // namespace

int lesson(int argc, const char* const* argv) {
  bool no_open = false, force = false;
  int port = kUsualPort;
  std::string file, section;
  CLI::App app{
      "Shows the lesson \"Attention: queries, keys, values\". Without options it serves the page "
      "on\n"
      "127.0.0.1, to this machine only, and opens the browser.",
      "qkv lesson"};
  app.add_flag("--no-open", no_open, "Serve the page, but open no browser")
      ->disable_flag_override();
  CLI::Option* port_option =
      app.add_option("--port", port,
                     "Serve on this port; 0: any free one (default: " + std::to_string(kUsualPort) +
                         ", or a free one)")
          ->check(CLI::Range(0, 65535))
          ->type_name("NUMBER");
  CLI::Option* write_option =
      app.add_option("--write", file, "Write the page to this file, which works offline")
          ->type_name("FILE");
  app.add_flag("--force", force, "Replace the file if it is there")
      ->needs(write_option)
      ->disable_flag_override();
  CLI::Option* text_option =
      app.add_option(
             "--text", section,
             "Print a section's worked numbers; \"list\" names the sections, \"all\" prints "
             "all")
          ->type_name("SECTION");
  text_option->excludes(write_option)->excludes(port_option);
  parse_options(app,
                "  qkv lesson\n  qkv lesson --write lesson.html\n  qkv lesson --text turn\n"
                "  qkv lesson --no-open --port 8000",
                argc, argv);
  if (*text_option) {
    print_lesson(section);
  } else if (*write_option) {
    write_page(file, force);
  } else {
    serve(port, static_cast<bool>(*port_option), !no_open);
  }
  return kSuccess;
}

}  // namespace qkv::app
