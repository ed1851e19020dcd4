#include "io/mapped_file.h"

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "io_test_util.h"

namespace qkv::io {
namespace {

TEST(MappedFile, HoldsTheBytes) {
  ScratchDirectory scratch;
  write_file(scratch / "x", "hello");
  MappedFile file;
  ASSERT_TRUE(MappedFile::open(scratch / "x", file).ok());
  ASSERT_EQ(file.size(), 5u);
  EXPECT_EQ(std::memcmp(file.bytes().data(), "hello", 5), 0);
  EXPECT_EQ(file.label(), scratch / "x");
}

TEST(MappedFile, OutlivesItsName) {
  ScratchDirectory scratch;
  write_file(scratch / "x", "hello");
  MappedFile file;
  ASSERT_TRUE(MappedFile::open(scratch / "x", file).ok());
  std::filesystem::remove(scratch / "x");
  const MappedFile copy = file;
  file = MappedFile();
  EXPECT_EQ(std::memcmp(copy.bytes().data(), "hello", 5), 0);
}

TEST(MappedFile, SaysWhyNot) {
  ScratchDirectory scratch;
  MappedFile file;
  expect_error(MappedFile::open(scratch / "missing", file), StatusCode::kFileError,
               "missing: can't be opened (No such file or directory)");
  std::filesystem::create_directory(scratch / "folder");
  expect_error(MappedFile::open(scratch / "folder", file), StatusCode::kFileError,
               "folder: is a directory");
  write_file(scratch / "empty", "");
  expect_error(MappedFile::open(scratch / "empty", file), StatusCode::kFileError,
               "empty: is empty (0 bytes)");
  expect_error(MappedFile::open(std::string("a\0b", 3), file), StatusCode::kInvalidArgument,
               "a\\x00b: the path holds a NUL");
  expect_error(MappedFile::open("/dev/zero", file), StatusCode::kFileError,
               "/dev/zero: is not a regular file");
}

// Opening a FIFO that nobody writes must not block.
TEST(MappedFile, RefusesAFifoAtOnce) {
  ScratchDirectory scratch;
  ASSERT_EQ(::mkfifo((scratch / "pipe.npy").c_str(), 0600), 0);
  Reader reader;
  expect_error(Reader::open(scratch / "pipe.npy", reader), StatusCode::kFileError,
               "pipe.npy: is not a regular file (a pipe, socket or device)");
}

TEST(MappedFile, NeedsPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  ScratchDirectory scratch;
  write_file(scratch / "x", "hello");
  ASSERT_EQ(::chmod((scratch / "x").c_str(), 0), 0);
  MappedFile file;
  expect_error(MappedFile::open(scratch / "x", file), StatusCode::kFileError,
               "can't be opened (Permission denied)");
}

}  // namespace
}  // namespace qkv::io
