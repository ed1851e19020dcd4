#include "run_command.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

namespace qkv::app {
namespace {

void redirect(const std::string& path, int to) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ::dup2(fd, to) < 0) ::_exit(126);
}

int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// AddressSanitizer tells of memory that isn't there, even if it is told to go on.
std::string without_sanitizer_notes(std::string text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1);
    if (text.find("WARNING: AddressSanitizer failed to allocate", begin) < end) {
      text.erase(begin, end + 1 - begin);
    } else {
      begin = end + 1;
    }
  }
  return text;
}

std::string new_directory() {
  std::string name = (std::filesystem::temp_directory_path() / "qkv-apps-XXXXXX").string();
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  return name;
}

}  // namespace

Scratch::Scratch() : path_(new_directory()) {}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> Scratch::names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

Process::Process(const Scratch& scratch, const Arguments& arguments, const Arguments& environment,
                 std::string_view program) {
  const std::string directory = scratch.path(), executable(program);
  // Beside the scratch directory, so that tests can list that.
  out_path_ = directory + ".out";
  err_path_ = directory + ".err";
  std::vector<char*> argv = {const_cast<char*>(executable.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = ::fork();
  EXPECT_GE(pid_, 0);
  if (pid_ != 0) return;
  redirect(out_path_, STDOUT_FILENO);
  redirect(err_path_, STDERR_FILENO);
  redirect("/dev/null", STDIN_FILENO);
  // Whatever started the tests may ignore these.
  (void)std::signal(SIGINT, SIG_DFL);
  (void)std::signal(SIGTERM, SIG_DFL);
  // Under AddressSanitizer memory that isn't there is to be reported as it is without it.
  const char* given = std::getenv("ASAN_OPTIONS");
  const std::string asan =
      std::string(given == nullptr ? "" : given) + ":allocator_may_return_null=1";
  ::setenv("ASAN_OPTIONS", asan.c_str(), 1);
  for (const std::string& entry : environment) ::putenv(const_cast<char*>(entry.c_str()));
  if (::chdir(directory.c_str()) == 0) ::execv(executable.c_str(), argv.data());
  ::_exit(127);
}

Process::~Process() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    (void)wait();
  }
  std::error_code ignored;
  std::filesystem::remove(out_path_, ignored);
  std::filesystem::remove(err_path_, ignored);
}

std::string Process::out() const { return read_text(out_path_); }

bool Process::wait_for(std::string_view text) const {
  for (int i = 0; i < 3000; ++i) {
    if (std::filesystem::exists(out_path_) && out().find(text) != std::string::npos) return true;
    siginfo_t info = {};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid_) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

Result Process::wait() {
  int status = 0;
  EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
  pid_ = -1;
  return {exit_code(status), read_text(out_path_), without_sanitizer_notes(read_text(err_path_))};
}

Result run(const Scratch& scratch, const Arguments& arguments, const Arguments& environment) {
  return Process(scratch, arguments, environment).wait();
}

void expect_failure(const Result& result, int code, std::initializer_list<std::string_view> parts) {
  EXPECT_EQ(result.code, code) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(result.err.starts_with("qkv: ")) << result.err;
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  EXPECT_TRUE(result.err.ends_with("\n")) << result.err;
  for (std::string_view part : parts) {
    EXPECT_THAT(result.err, ::testing::HasSubstr(std::string(part)));
  }
}

void expect_success(const Result& result) {
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

nlohmann::json parsed(const std::string& text) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  EXPECT_TRUE(json.is_object()) << text;
  return json;
}

std::string read_text(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream.good()) << path;
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write_arrays(const std::string& path, const std::vector<Named>& arrays) {
  std::vector<io::NamedTensor> named;
  for (const Named& array : arrays) named.push_back({array.name, array.tensor});
  const Status status = io::write(path, named, {.overwrite = true});
  EXPECT_TRUE(status.ok()) << status.message();
}

Tensor read_array(const std::string& path, std::string_view name) {
  io::Reader reader;
  Status status = io::Reader::open(path, reader);
  EXPECT_TRUE(status.ok()) << status.message();
  Tensor array;
  status = reader.read(name, array);
  EXPECT_TRUE(status.ok()) << status.message();
  return array;
}

void write_lesson(const Scratch& scratch) {
  write_arrays(scratch / "lesson.npz",
               {{"q", lesson_query()}, {"k", lesson_key()}, {"v", lesson_value()}});
}

}  // namespace qkv::app
