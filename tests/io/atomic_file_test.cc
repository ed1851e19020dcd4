#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "io_test_util.h"

namespace qkv::io {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

mode_t mode_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

Status write_text(const std::string& path, bool overwrite, std::string_view text) {
  AtomicFile file;
  if (Status status = file.create(path, overwrite); !status.ok()) return status;
  if (Status status = file.write(text.data(), text.size()); !status.ok()) return status;
  return file.commit();
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  ScratchDirectory scratch;
  AtomicFile file;
  ASSERT_TRUE(file.create(scratch / "x", false).ok());
  ASSERT_TRUE(file.write("hello", 5).ok());
  EXPECT_THAT(scratch.names(), ElementsAre(StartsWith(".qkv-")));
  ASSERT_TRUE(file.commit().ok());
  EXPECT_THAT(scratch.names(), ElementsAre("x"));
  EXPECT_EQ(read_file(scratch / "x"), "hello");
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  ScratchDirectory scratch;
  {
    AtomicFile file;
    ASSERT_TRUE(file.create(scratch / "x", false).ok());
    ASSERT_TRUE(file.write("hello", 5).ok());
  }
  EXPECT_THAT(scratch.names(), IsEmpty());
}

TEST(AtomicFile, SeeksBackAndOn) {
  ScratchDirectory scratch;
  AtomicFile file;
  ASSERT_TRUE(file.create(scratch / "x", false).ok());
  ASSERT_TRUE(file.write("hello", 5).ok());
  ASSERT_TRUE(file.seek(1).ok());
  ASSERT_TRUE(file.write("a", 1).ok());
  EXPECT_EQ(file.position(), 2u);
  EXPECT_EQ(file.size(), 5u);
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(read_file(scratch / "x"), "hallo");
}

TEST(AtomicFile, RefusesToOverwrite) {
  ScratchDirectory scratch;
  write_file(scratch / "x", "old");
  expect_error(write_text(scratch / "x", false, "new"), StatusCode::kFileError,
               "x: already exists; choose another name or allow overwriting");
  EXPECT_EQ(read_file(scratch / "x"), "old");
  EXPECT_THAT(scratch.names(), ElementsAre("x"));
  // At once, not after gigabytes have been written.
  expect_error(AtomicFile().create(scratch / "x", false), StatusCode::kFileError, "already exists");
  ASSERT_TRUE(write_text(scratch / "x", true, "new").ok());
  EXPECT_EQ(read_file(scratch / "x"), "new");
}

// The file appears between the first look and the end; every way of publishing must keep it.
TEST(AtomicFile, NeverReplacesAFileThatCameInBetween) {
  for (const auto way : {AtomicFile::Publish::kRename, AtomicFile::Publish::kLink,
                         AtomicFile::Publish::kPlaceholder}) {
    SCOPED_TRACE(static_cast<int>(way));
    ScratchDirectory scratch;
    AtomicFile file;
    ASSERT_TRUE(file.create(scratch / "x", false).ok());
    ASSERT_TRUE(file.write("new", 3).ok());
    write_file(scratch / "x", "theirs");
    expect_error(file.commit(way), StatusCode::kFileError, "x: already exists");
    EXPECT_EQ(read_file(scratch / "x"), "theirs");
    EXPECT_THAT(scratch.names(), ElementsAre("x"));
  }
}

TEST(AtomicFile, EveryWayOfPublishingWorks) {
  for (const auto way : {AtomicFile::Publish::kRename, AtomicFile::Publish::kLink,
                         AtomicFile::Publish::kPlaceholder}) {
    SCOPED_TRACE(static_cast<int>(way));
    ScratchDirectory scratch;
    AtomicFile file;
    ASSERT_TRUE(file.create(scratch / "x", false).ok());
    ASSERT_TRUE(file.write("new", 3).ok());
    const Status status = file.commit(way);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(read_file(scratch / "x"), "new");
    EXPECT_THAT(scratch.names(), ElementsAre("x"));
  }
}

TEST(AtomicFile, HonoursUmaskAndKeepsPermissions) {
  ScratchDirectory scratch;
  const mode_t old = ::umask(027);
  EXPECT_TRUE(write_text(scratch / "x", false, "1").ok());
  EXPECT_EQ(mode_of(scratch / "x"), 0640u);
  ASSERT_EQ(::chmod((scratch / "x").c_str(), 0606), 0);
  EXPECT_TRUE(write_text(scratch / "x", true, "2").ok());
  EXPECT_EQ(mode_of(scratch / "x"), 0606u);
  ::umask(old);
}

TEST(AtomicFile, FollowsLinksAndKeepsThem) {
  ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "folder");
  write_file(scratch / "folder/real", "old");
  std::filesystem::create_symlink("folder/real", scratch / "link");
  std::filesystem::create_symlink(scratch / "link", scratch / "second");
  expect_error(write_text(scratch / "second", false, "new"), StatusCode::kFileError, "already");
  ASSERT_TRUE(write_text(scratch / "second", true, "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "second"));
  EXPECT_EQ(read_file(scratch / "folder/real"), "new");
  // A link to nothing yet: the file it names is made.
  std::filesystem::create_symlink("folder/later", scratch / "dangling");
  ASSERT_TRUE(write_text(scratch / "dangling", false, "made").ok());
  EXPECT_EQ(read_file(scratch / "folder/later"), "made");
  std::filesystem::create_symlink("loop", scratch / "loop");
  expect_error(write_text(scratch / "loop", true, "x"), StatusCode::kFileError,
               "is a symbolic link that can't be followed");
}

TEST(AtomicFile, RefusesPlacesThatAreNotFiles) {
  ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "folder");
  expect_error(write_text(scratch / "folder", true, "x"), StatusCode::kFileError,
               "folder: is a directory and can't be replaced");
  expect_error(write_text("/dev/null", true, "x"), StatusCode::kFileError,
               "/dev/null: is not a regular file and can't be replaced");
  expect_error(write_text(scratch / "missing/x", false, "x"), StatusCode::kFileError,
               "missing/x: no file can be created beside it (No such file or directory)");
  write_file(scratch / "plain", "");
  expect_error(write_text(scratch / "plain/x", false, "x"), StatusCode::kFileError,
               "can't be written (Not a directory)");
  expect_error(write_text("", true, "x"), StatusCode::kInvalidArgument, "can't name a file");
}

// A full disk, simulated by a limit on the size of files.
TEST(AtomicFile, FullDiskLeavesTheOldFile) {
  ScratchDirectory scratch;
  write_file(scratch / "x.npy", "old");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::vector<float> data(100'000);
    const Status status =
        write(scratch / "x.npy", {{"", TensorView(data.data(), {100'000})}}, {.overwrite = true});
    const bool right = status.code() == StatusCode::kFileError &&
                       status.message().find(
                           "x.npy: could not be written after 100000 bytes (File "
                           "too large); free some space") != std::string::npos;
    ::_exit(right ? 0 : 1);
  }
  int result = 0;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(read_file(scratch / "x.npy"), "old");
  EXPECT_THAT(scratch.names(), ElementsAre("x.npy"));
}

TEST(AtomicFile, FullDiskWhileWritingAnArchive) {
  for (const char* name : {"x.npz", "x.safetensors"}) {
    ScratchDirectory scratch;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{100'000, 100'000};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const std::vector<float> data(100'000);
      const Status status = write(scratch / name, {{"a", TensorView(data.data(), {100'000})}});
      const bool right = status.code() == StatusCode::kFileError &&
                         status.message().find("File too large") != std::string::npos;
      ::_exit(right ? 0 : 1);
    }
    int result = 0;
    ASSERT_EQ(::waitpid(child, &result, 0), child);
    EXPECT_EQ(result, 0) << name;
    EXPECT_THAT(scratch.names(), IsEmpty());
  }
}

// Killed in the middle of writing: the old file is whole, and what remains is a temporary.
TEST(AtomicFile, KillLeavesTheOldFile) {
  ScratchDirectory scratch;
  write_file(scratch / "x", "old");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    AtomicFile file;
    if (!file.create(scratch / "x", true).ok()) ::_exit(1);
    const std::string block(1 << 16, 'n');
    for (int i = 0; i < 16; ++i) {
      if (!file.write(block.data(), block.size()).ok()) ::_exit(1);
    }
    (void)!::write(ready[1], "r", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  int result = 0;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_TRUE(WIFSIGNALED(result));
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_EQ(read_file(scratch / "x"), "old");
  EXPECT_THAT(scratch.names(), ::testing::UnorderedElementsAre("x", StartsWith(".qkv-")));
}

// A reader keeps the file it mapped when another takes its name.
TEST(AtomicFile, ReplacingDoesNotDisturbAReader) {
  ScratchDirectory scratch;
  const float old_values[] = {1.0f, 2.0f};
  ASSERT_TRUE(write(scratch / "x.npy", {{"", TensorView(old_values, {2})}}).ok());
  const Tensor tensor = must_read(scratch / "x.npy");
  const float one[] = {3.0f};
  ASSERT_TRUE(write(scratch / "x.npy", {{"", TensorView(one, {1})}}, {.overwrite = true}).ok());
  EXPECT_THAT(values<float>(tensor), ElementsAre(1.0f, 2.0f));
  EXPECT_THAT(values<float>(must_read(scratch / "x.npy")), ElementsAre(3.0f));
}

}  // namespace
}  // namespace qkv::io
