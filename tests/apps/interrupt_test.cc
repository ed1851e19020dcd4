// Ctrl-C, and runs that are killed.
#include "interrupt.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "run_command.h"

namespace qkv::app {
namespace {

using ::testing::ElementsAre;

// A problem of minutes: 20000 rows in float64.
class Interrupt : public ::testing::Test {
 protected:
  Interrupt() {
    const Tensor x =
        tensor<float>({20000, 64}, std::vector<float>(std::size_t{20000} * 64, 0.125f));
    write_arrays(scratch / "in.npz", {{"q", x}, {"k", x}, {"v", x}});
  }
  const Arguments arguments = {"attend",  "in.npz",    "-o",      "out.npz",
                               "--force", "--explain", "--dtype", "float64"};
  Scratch scratch;
};

TEST_F(Interrupt, StopsSoonAndLeavesNoFile) {
  for (int signal : {SIGINT, SIGTERM}) {
    Process process(scratch, arguments);
    ASSERT_TRUE(process.wait_for("memory")) << "the plan was not printed";
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(::kill(process.pid(), signal), 0);
    const Result result = process.wait();
    // It takes milliseconds; the limit is for machines with much else to do.
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
    EXPECT_EQ(result.code, 128 + signal);
    EXPECT_EQ(result.err, "qkv: interrupted; nothing was written\n");
    EXPECT_THAT(scratch.names(), ElementsAre("in.npz"));
  }
}

TEST_F(Interrupt, KeepsTheOldFile) {
  write_arrays(scratch / "out.npz", {{"x", lesson_key()}});
  const std::string before = read_text(scratch / "out.npz");
  Process process(scratch, arguments);
  ASSERT_TRUE(process.wait_for("memory"));
  ASSERT_EQ(::kill(process.pid(), SIGINT), 0);
  EXPECT_EQ(process.wait().code, 130);
  EXPECT_EQ(read_text(scratch / "out.npz"), before);
}

TEST_F(Interrupt, KilledRunLeavesNoFile) {
  Process process(scratch, arguments);
  ASSERT_TRUE(process.wait_for("memory"));
  ASSERT_EQ(::kill(process.pid(), SIGKILL), 0);
  EXPECT_EQ(process.wait().code, 137);
  EXPECT_THAT(scratch.names(), ElementsAre("in.npz"));
}

TEST_F(Interrupt, IgnoredSignalsStayIgnored) {
  // As under nohup: the signal is not for this process.
  Process process(scratch,
                  {"-c", "trap '' INT; exec " + std::string(QKV_COMMAND) +
                             " attend in.npz --explain -o out.npz --dtype float64"},
                  {}, "/bin/sh");
  ASSERT_TRUE(process.wait_for("memory"));
  ASSERT_EQ(::kill(process.pid(), SIGINT), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  int status = 0;
  EXPECT_EQ(::waitpid(process.pid(), &status, WNOHANG), 0);
}

TEST_F(Interrupt, FullDiskIsAFileError) {
  // A limit on the size of files is what a full disk looks like, to standard error too.
  write_lesson(scratch);
  Process process(
      scratch,
      {"-c", "ulimit -f 0; exec " + std::string(QKV_COMMAND) + " attend lesson.npz -o out.npz"}, {},
      "/bin/sh");
  EXPECT_EQ(process.wait().code, 4);
  EXPECT_THAT(scratch.names(), ElementsAre("in.npz", "lesson.npz"));
}

// Everything that the command prints on a terminal until it ends; Ctrl-C is typed at the first bar.
std::string on_terminal(const Scratch& scratch, const Arguments& arguments, const char* no_colour) {
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    std::vector<char*> argv = {const_cast<char*>(QKV_COMMAND)};
    for (const std::string& word : arguments) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::setenv("TERM", "xterm", 1);
    ::setenv("NO_COLOR", no_colour, 1);
    if (::chdir(scratch.path().c_str()) == 0) ::execv(QKV_COMMAND, argv.data());
    ::_exit(127);
  }
  std::string text;
  char buffer[4096];
  bool typed = false;
  for (ssize_t n = 0; (n = ::read(terminal, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
    if (typed || text.find("attend [") == std::string::npos) continue;
    typed = true;
    EXPECT_EQ(::write(terminal, "\x03", 1), 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
  ::close(terminal);
  return text;
}

TEST_F(Interrupt, BarAppearsOnATerminalAndIsWipedAway) {
  const Arguments words = {"attend", "in.npz", "-o", "out.npz", "--dtype", "float64"};
  const std::string coloured = on_terminal(scratch, words, "");
  EXPECT_TRUE(
      coloured.ends_with("\r\x1b[K\x1b[31mqkv:\x1b[0m interrupted; nothing was written\r\n"))
      << coloured;
  const std::string plain = on_terminal(scratch, words, "1");
  EXPECT_TRUE(plain.ends_with("\r\x1b[Kqkv: interrupted; nothing was written\r\n")) << plain;
}

TEST(CancelScope, TurnsTheFirstSignalIntoAFlag) {
  const auto child = [&] {
    handle_interrupts();
    bool good = interrupt_exit_code() == 0;
    {
      const CancelScope cancel;
      good = good && !*cancel.flag();
      ::raise(SIGINT);
      good = good && *cancel.flag() && interrupt_exit_code() == 130;
    }
    ::_exit(good ? 0 : 1);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace qkv::app
