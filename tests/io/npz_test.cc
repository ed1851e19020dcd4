// .npz files that NumPy and Python's zipfile wrote, against values written out here.
#include <cstdint>

#include "io_test_util.h"

namespace qkv::io {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names_of(const ArrayFile& file) {
  std::vector<std::string> names;
  for (const ArrayInfo& info : file.arrays()) names.push_back(info.name);
  return names;
}

// `content` with the little-endian `value` of `bytes` bytes at `position`.
std::string patched(std::string content, std::size_t position, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    content[position + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i));
  }
  return content;
}

constexpr std::string_view kLocal = "PK\3\4";
constexpr std::string_view kCentral = "PK\1\2";
constexpr std::string_view kEnd = "PK\5\6";

TEST(Npz, ReadsStoredAndDeflated) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    SCOPED_TRACE(name);
    const std::string path = data_path(name);
    Reader reader;
    ASSERT_TRUE(Reader::open(path, reader).ok());
    ASSERT_EQ(reader.arrays().size(), 5u);
    EXPECT_EQ(reader.arrays()[0].name, "cube");
    EXPECT_EQ(reader.arrays()[2].dtype, ">i4");
    EXPECT_EQ(reader.arrays()[4].name, "größe");
    EXPECT_EQ(values<float>(must_read(path, "cube")), iota24());
    EXPECT_EQ(values<float>(must_read(path, "cube.npy")), iota24());
    const Tensor fortran = must_read(path, "fortran");
    EXPECT_EQ(fortran.view().strides, (Extents{1, 2, 6, 0}));
    EXPECT_EQ(values<float>(fortran), iota24());
    EXPECT_THAT(values<std::int32_t>(must_read(path, "big")), ElementsAre(INT32_MIN, 1, INT32_MAX));
    EXPECT_THAT(values<std::uint8_t>(must_read(path, "flags")), ElementsAre(1, 0, 1));
    EXPECT_THAT(values<double>(must_read(path, "größe")), ElementsAre(1.0, 2.0));
  }
}

TEST(Npz, ReadsZip64) {
  const std::string path = data_path("zip64.npz");
  EXPECT_EQ(values<float>(must_read(path)), iota24());
}

TEST(Npz, TreatsMembersAsNumpyDoes) {
  std::unique_ptr<ArrayFile> file;
  ASSERT_TRUE(open_bytes(read_file(data_path("mixed.npz")), Format::kNpz, file).ok());
  EXPECT_THAT(names_of(*file), ElementsAre("bare", "sub/inner"));
  Tensor tensor;
  ASSERT_TRUE(file->read("bare", tensor).ok());
  EXPECT_THAT(values<std::int16_t>(tensor), ElementsAre(5, 6));
  ASSERT_TRUE(file->read("sub/inner", tensor).ok());
  EXPECT_THAT(values<std::int16_t>(tensor), ElementsAre(7));
}

TEST(Npz, AsksForANameAndListsThem) {
  Reader reader;
  ASSERT_TRUE(Reader::open(data_path("stored.npz"), reader).ok());
  Tensor tensor;
  expect_error(reader.read("", tensor), StatusCode::kInvalidArgument,
               "holds 5 arrays; name one of \"cube\", \"fortran\", \"big\"");
  expect_error(reader.read("q", tensor), StatusCode::kInvalidArgument,
               "has no array \"q\"; it holds \"cube\", \"fortran\"");
}

TEST(Npz, CanHoldNothing) {
  Reader reader;
  const Status status = Reader::open(data_path("no_arrays.npz"), reader);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(reader.arrays().empty());
  Tensor tensor;
  expect_error(reader.read("", tensor), StatusCode::kInvalidArgument, "holds no arrays");
}

TEST(Npz, RefusesOtherCompression) {
  Reader reader;
  expect_error(Reader::open(data_path("bzip2.npz"), reader), StatusCode::kUnsupported,
               "bzip2.npz: array \"x\": is compressed by the zip method 12");
}

TEST(Npz, RefusesEncryption) {
  std::string content = read_file(data_path("stored.npz"));
  content = patched(content, content.find(kCentral) + 8, 1, 2);
  expect_error(open_bytes(content, Format::kNpz), StatusCode::kUnsupported, "is encrypted");
}

TEST(Npz, RefusesAFileThatIsNoZip) {
  expect_error(open_bytes("hello", Format::kNpz), StatusCode::kFileError,
               "has no zip directory at its end");
}

TEST(Npz, RefusesMembersThatAreNotArrays) {
  std::string content = read_file(data_path("stored.npz"));
  content[content.find("\x93NUMPY")] = 'x';
  expect_error(open_bytes(content, Format::kNpz), StatusCode::kFileError,
               "array \"cube\": does not begin with the .npy magic bytes");
}

// "x" and "x.npy" are one name.
TEST(Npz, RefusesDuplicateNames) {
  Reader reader;
  expect_error(Reader::open(data_path("duplicate.npz"), reader), StatusCode::kFileError,
               "duplicate.npz: holds two members for the name \"x\"");
}

TEST(Npz, TakesACommentButNothingElseAtTheEnd) {
  const std::string content = read_file(data_path("stored.npz"));
  const std::size_t end = content.rfind(kEnd);
  EXPECT_TRUE(open_bytes(patched(content, end + 20, 7, 2) + "comment", Format::kNpz).ok());
  expect_error(open_bytes(content + "x", Format::kNpz), StatusCode::kFileError,
               "has no zip directory at its end");
}

TEST(Npz, RefusesDamagedDirectories) {
  const std::string content = read_file(data_path("stored.npz"));
  const std::size_t end = content.rfind(kEnd);
  // One member more than there is.
  expect_error(open_bytes(patched(content, end + 10, 6, 2), Format::kNpz), StatusCode::kFileError,
               "promises 6 members but entry 6 is broken");
  // The first member's local header is elsewhere.
  const std::size_t central = content.find(kCentral);
  expect_error(open_bytes(patched(content, central + 42, 1, 4), Format::kNpz),
               StatusCode::kFileError, "its member \"cube.npy\" has no header at byte 1");
  // A header that belongs to another member.
  expect_error(open_bytes(patched(content, central + 42, content.find(kLocal, 4), 4), Format::kNpz),
               StatusCode::kFileError,
               "its member \"cube.npy\" has a header that contradicts the zip directory");
  // A member fewer, so that an entry is left over.
  expect_error(open_bytes(patched(content, end + 10, 4, 2), Format::kNpz), StatusCode::kFileError,
               "bytes more than its 4 members");
  // A directory that is not before its end record.
  expect_error(open_bytes(patched(content, end + 16, 1 << 20, 4), Format::kNpz),
               StatusCode::kFileError, "at byte 1048576 is not before byte");
  // One of several disks.
  expect_error(open_bytes(patched(content, end + 4, 1, 2), Format::kNpz), StatusCode::kFileError,
               "is one part of an archive of several");
}

TEST(Npz, RefusesNamesThatAreNotText) {
  std::string content = read_file(data_path("stored.npz"));
  const std::size_t name = content.find(kCentral) + 46;
  content[name] = '\xff';
  expect_error(open_bytes(content, Format::kNpz), StatusCode::kFileError, "is not UTF-8");
  content[name] = '\0';
  expect_error(open_bytes(content, Format::kNpz), StatusCode::kFileError, "holds a NUL");
}

TEST(Npz, RefusesDamagedZip64) {
  const std::string content = read_file(data_path("zip64.npz"));
  const std::size_t end64 = content.rfind("PK\6\6");
  const std::size_t locator = content.rfind("PK\6\7");
  expect_error(open_bytes(patched(content, locator + 8, ~std::uint64_t{0}, 8), Format::kNpz),
               StatusCode::kFileError, "its zip64 directory is not at byte 18446744073709551615");
  expect_error(open_bytes(patched(content, end64 + 48, ~std::uint64_t{0}, 8), Format::kNpz),
               StatusCode::kFileError, "at byte 18446744073709551615 is not before byte");
  expect_error(open_bytes(patched(content, end64 + 32, ~std::uint64_t{0}, 8), Format::kNpz),
               StatusCode::kFileError, "promises 18446744073709551615 members but entry 2 is");
  // The entry needs its zip64 field but has another.
  const std::size_t extra = content.find(kCentral) + 46 + 8;
  expect_error(open_bytes(patched(content, extra, 2, 2), Format::kNpz), StatusCode::kFileError,
               "promises 1 members but entry 1 is broken");
  expect_error(open_bytes(patched(content, extra + 2, 16, 2), Format::kNpz), StatusCode::kFileError,
               "entry 1 is broken");
  expect_error(open_bytes(patched(content, extra + 2, 25, 2), Format::kNpz), StatusCode::kFileError,
               "entry 1 is broken");
}

// An entry that claims more than its bytes can hold is refused before memory is asked for.
TEST(Npz, RefusesZipBombs) {
  const std::string content = read_file(data_path("deflated.npz"));
  const std::size_t size = content.find(kCentral) + 24;
  expect_error(open_bytes(patched(content, size, 0xfffffff0, 4), Format::kNpz),
               StatusCode::kFileError, "array \"cube\": claims 4294967280 bytes from");
  // A claim that deflate could fulfil, but not the shape.
  expect_error(open_bytes(patched(content, size, 225, 4), Format::kNpz), StatusCode::kFileError,
               "takes 96 bytes, but 97 bytes follow the header");
}

// The claim fits the shape, but the deflated data are shorter or longer.
TEST(Npz, RefusesDeflatedDataOfAnotherLength) {
  for (const bool longer : {false, true}) {
    SCOPED_TRACE(longer);
    const std::string name = longer ? "deflated_longer.npz" : "deflated_shorter.npz";
    std::unique_ptr<ArrayFile> file;
    const Status status = open_bytes(read_file(data_path(name)), Format::kNpz, file);
    ASSERT_TRUE(status.ok()) << status.message();
    Tensor tensor;
    expect_error(file->read("x", tensor), StatusCode::kFileError,
                 longer ? "array \"x\": holds more than the 140 bytes it claims"
                        : "ends or can't be decompressed after 136 bytes of 140");
  }
}

TEST(Npz, RefusesStoredMembersOfTwoSizes) {
  const std::string content = read_file(data_path("zip64.npz"));
  // In the directory's zip64 field: the full size, then the compressed one.
  const std::size_t field = content.find(kCentral) + 46 + 8 + 4;
  expect_error(open_bytes(patched(content, field, 225, 8), Format::kNpz), StatusCode::kFileError,
               "claims 225 bytes from 224 stored ones");
}

TEST(Npz, RefusesMembersOutsideTheFile) {
  const std::string content = read_file(data_path("zip64.npz"));
  const std::size_t field = content.find(kCentral) + 46 + 8 + 4;
  for (const std::uint64_t size : {std::uint64_t{1} << 30, ~std::uint64_t{0}}) {
    std::string far = patched(content, field, size, 8);
    far = patched(far, field + 8, size, 8);
    expect_error(open_bytes(far, Format::kNpz), StatusCode::kFileError,
                 "takes " + std::to_string(size) + " bytes from byte 58 on, but the file has only");
  }
  expect_error(open_bytes(patched(content, field + 16, ~std::uint64_t{0}, 8), Format::kNpz),
               StatusCode::kFileError, "has no header at byte 18446744073709551615");
}

TEST(Npz, ChecksTheChecksumOfCopies) {
  for (const char* name : {"deflated.npz", "stored.npz"}) {
    SCOPED_TRACE(name);
    std::string content = read_file(data_path(name));
    const std::size_t central = content.find(kCentral);
    content = patched(content, central + 16, 0x12345678, 4);
    std::unique_ptr<ArrayFile> file;
    ASSERT_TRUE(open_bytes(content, Format::kNpz, file).ok());
    Tensor tensor;
    expect_error(file->read("cube", tensor), StatusCode::kFileError,
                 "f: array \"cube\": has the wrong checksum (CRC-32)");
    EXPECT_FALSE(tensor.defined());
  }
}

TEST(Npz, RefusesDamagedDeflateData) {
  std::string content = read_file(data_path("deflated.npz"));
  // Past the .npy header's bytes, inside the first member's stream.
  const std::size_t second = content.find(kLocal, 4);
  for (std::size_t i = second - 12; i < second; ++i) content[i] = '\xff';
  expect_error(read_all(content, Format::kNpz), StatusCode::kFileError, "array \"cube\"");
}

}  // namespace
}  // namespace qkv::io
