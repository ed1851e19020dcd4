// What qkv writes: the bytes of NumPy and of the safetensors package where they are determined.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "io_test_util.h"

namespace qkv::io {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

void must_write(const std::string& path, const std::vector<NamedTensor>& tensors,
                const WriteOptions& options = {}) {
  const Status status = write(path, tensors, options);
  ASSERT_TRUE(status.ok()) << status.message();
}

TEST(WriteNpy, IsNumpysByteForByte) {
  ScratchDirectory scratch;
  for (const char* name : {"f2_little", "f4_little", "f8_little", "b1_little", "i1_little",
                           "i2_little", "i4_little", "i8_little", "u1_little", "u2_little",
                           "u4_little", "u8_little", "cube", "scalar", "empty", "rank4"}) {
    SCOPED_TRACE(name);
    const std::string original = data_path(std::string(name) + ".npy");
    const std::string copy = scratch / (std::string(name) + ".npy");
    must_write(copy, {{"ignored", must_read(original)}});
    EXPECT_EQ(read_file(copy), read_file(original));
  }
}

TEST(WriteNpy, WritesAnyStridesInRowMajorOrder) {
  ScratchDirectory scratch;
  const std::string expected = read_file(data_path("cube.npy"));
  must_write(scratch / "fortran.npy", {{"", must_read(data_path("cube_fortran.npy"))}});
  EXPECT_EQ(read_file(scratch / "fortran.npy"), expected);
  // [4, 3, 2] read backwards along its first axis, then transposed to [2, 3, 4].
  float data[24];
  TensorView view(data, {4, 3, 2});
  for (int i = 0; i < 24; ++i) {
    const int a = i / 12;
    const int b = i / 4 % 3;
    const int c = i % 4;
    data[(3 - c) * 6 + b * 2 + a] = static_cast<float>(i);
  }
  view.data = data + 18;
  view.strides[0] = -6;
  must_write(scratch / "strided.npy", {{"", view.transposed(0, 2)}});
  EXPECT_EQ(read_file(scratch / "strided.npy"), expected);
}

TEST(WriteNpy, WritesBroadcastViewsLargerThanTheBuffer) {
  ScratchDirectory scratch;
  const std::int16_t row[] = {7, 8, 9};
  TensorView view(row, {1'000'001, 3});
  view.strides[0] = 0;
  must_write(scratch / "x.npy", {{"", view}});
  const Tensor tensor = must_read(scratch / "x.npy");
  ASSERT_EQ(describe(tensor), "int16 [1000001, 3]");
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    ASSERT_EQ(tensor.data<std::int16_t>()[i], 7 + i % 3) << i;
  }
}

TEST(WriteNpy, MakesBooleansZeroOrOne) {
  ScratchDirectory scratch;
  const std::uint8_t data[] = {0, 1, 255};
  must_write(scratch / "b.npy", {{"", TensorView(data, DType::kBool, {3})}});
  const std::string content = read_file(scratch / "b.npy");
  EXPECT_EQ(content.substr(content.size() - 3), std::string("\0\1\1", 3));
}

TEST(WriteSafetensors, IsThePackagesByteForByte) {
  ScratchDirectory scratch;
  for (const char* name : {"typed.safetensors", "cube.safetensors"}) {
    SCOPED_TRACE(name);
    Reader reader;
    ASSERT_TRUE(Reader::open(data_path(name), reader).ok());
    std::vector<NamedTensor> tensors;
    for (const ArrayInfo& info : reader.arrays()) {
      Tensor tensor;
      ASSERT_TRUE(reader.read(info.name, tensor).ok());
      tensors.push_back({info.name, tensor});
    }
    must_write(scratch / name, tensors, {.metadata = reader.metadata()});
    EXPECT_EQ(read_file(scratch / name), read_file(data_path(name)));
  }
}

TEST(WriteSafetensors, WritesBFloat16Ones) {
  ScratchDirectory scratch;
  const std::uint16_t ones[] = {0x3f80, 0x3f80, 0x3f80};
  must_write(scratch / "x.safetensors", {{"x", TensorView(ones, DType::kBFloat16, {3})}});
  EXPECT_EQ(read_file(scratch / "x.safetensors"),
            std::string("\x38\0\0\0\0\0\0\0", 8) +
                R"({"x":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]}} )" +
                "\x80\x3f\x80\x3f\x80\x3f");
}

TEST(WriteSafetensors, EscapesNamesAndMetadata) {
  ScratchDirectory scratch;
  const float one = 1.0f;
  const std::string name = std::string("a\"\\\n\x01\0ö", 8);
  must_write(scratch / "x.safetensors", {{name, TensorView(&one, {})}},
             {.metadata = {{"k\"", "v\n"}}});
  Reader reader;
  ASSERT_TRUE(Reader::open(scratch / "x.safetensors", reader).ok());
  EXPECT_EQ(reader.arrays()[0].name, name);
  EXPECT_EQ(reader.metadata().at("k\""), "v\n");
}

// Local headers of a stored archive, read here from the bytes alone.
TEST(WriteNpz, IsAPlainZipOfNumpysFiles) {
  ScratchDirectory scratch;
  const Tensor cube = must_read(data_path("cube.npy"));
  const Tensor scalar = must_read(data_path("scalar.npy"));
  must_write(scratch / "x.npz", {{"größe", cube}, {"b", scalar}});
  const std::string content = read_file(scratch / "x.npz");
  const auto number = [&](std::size_t at, int bytes) {
    std::uint64_t value = 0;
    for (int i = bytes; i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(content[at + static_cast<std::size_t>(i)]);
    }
    return value;
  };
  struct Expected {
    std::string name;
    const char* file;
    std::uint64_t crc;    // Python's zlib.crc32 of the file
    std::uint64_t flags;  // 0x800: the name is UTF-8
  };
  const Expected members[] = {{"größe.npy", "cube.npy", 0x197dc914, 0x800},
                              {"b.npy", "scalar.npy", 0xc001d122, 0}};
  std::size_t at = 0;
  for (const Expected& member : members) {
    const std::string file = read_file(data_path(member.file));
    EXPECT_EQ(content.substr(at, 4), "PK\3\4");
    EXPECT_EQ(number(at + 6, 2), member.flags);
    EXPECT_EQ(number(at + 8, 2), 0u);            // stored
    EXPECT_EQ(number(at + 10, 4), 0x00210000u);  // 1980-01-01 00:00
    EXPECT_EQ(number(at + 14, 4), member.crc);
    EXPECT_EQ(number(at + 18, 4), file.size());
    EXPECT_EQ(number(at + 22, 4), file.size());
    const std::size_t name_size = number(at + 26, 2);
    EXPECT_EQ(content.substr(at + 30, name_size), member.name);
    at += 30 + name_size + number(at + 28, 2);
    EXPECT_EQ(at % 64, 0u);
    EXPECT_EQ(content.substr(at, file.size()), file);
    at += file.size();
  }
  EXPECT_EQ(content.substr(at, 4), "PK\1\2");
}

TEST(WriteNpz, IsReadBackInPlace) {
  ScratchDirectory scratch;
  const Tensor cube = must_read(data_path("cube.npy"));
  // Names of every length up to 70 move the data through all alignments.
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 1; i <= 70; ++i) tensors.push_back({std::string(i, 'n'), cube});
  must_write(scratch / "x.npz", tensors);
  Reader reader;
  ASSERT_TRUE(Reader::open(scratch / "x.npz", reader).ok());
  ASSERT_EQ(reader.arrays().size(), 70u);
  for (const ArrayInfo& info : reader.arrays()) {
    Tensor first;
    Tensor second;
    ASSERT_TRUE(reader.read(info.name, first).ok());
    ASSERT_TRUE(reader.read(info.name, second).ok());
    EXPECT_EQ(first.view().data, second.view().data);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.view().data) % 64, 0u);
    EXPECT_EQ(values<float>(first), iota24());
  }
}

// The old end record has 16 bits for the number of members, and 65535 means "see zip64".
TEST(WriteNpz, UsesZip64From65535MembersOn) {
  ScratchDirectory scratch;
  const std::uint8_t byte = 9;
  for (const int count : {65534, 65535}) {
    std::vector<NamedTensor> tensors;
    for (int i = 0; i < count; ++i) tensors.push_back({std::to_string(i), TensorView(&byte, {})});
    must_write(scratch / "x.npz", tensors, {.overwrite = true});
    Reader reader;
    const Status status = Reader::open(scratch / "x.npz", reader);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(reader.arrays().size(), static_cast<std::size_t>(count));
    EXPECT_EQ(reader.arrays().back().name, std::to_string(count - 1));
    const std::string content = read_file(scratch / "x.npz");
    const bool zip64 = content.find("PK\6\6", content.size() - 100) != std::string::npos;
    EXPECT_EQ(zip64, count >= 65535);
  }
}

TEST(Write, GivesTheSameBytesEachTime) {
  ScratchDirectory scratch;
  const Tensor cube = must_read(data_path("cube.npy"));
  for (const std::string ending : {".npy", ".npz", ".safetensors"}) {
    must_write(scratch / ("a" + ending), {{"x", cube}});
    must_write(scratch / ("b" + ending), {{"x", cube}});
    EXPECT_EQ(read_file(scratch / ("a" + ending)), read_file(scratch / ("b" + ending)));
  }
}

TEST(Write, RefusesWhatItCannotWrite) {
  ScratchDirectory scratch;
  const float data[] = {1.0f, 2.0f};
  const TensorView good(data, {2});
  const TensorView bf16(data, DType::kBFloat16, {2});
  TensorView rank5(data, {1, 1, 1, 1, 1});
  TensorView negative(data, {2});
  negative.extents[0] = -1;
  TensorView huge(data, {std::int64_t{1} << 40, std::int64_t{1} << 40});
  const TensorView null(static_cast<const float*>(nullptr), {2});
  struct Case {
    const char* file;
    std::vector<NamedTensor> tensors;
    WriteOptions options;
    StatusCode code;
    const char* message;
  };
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  const Case cases[] = {
      {"x.npy", {}, {}, kInvalid, "x.npy: an .npy file holds exactly one tensor, not 0"},
      {"x.npy", {{"a", good}, {"b", good}}, {}, kInvalid, "exactly one tensor, not 2"},
      {"x.npz", {}, {}, kInvalid, "there is no tensor to write"},
      {"x.safetensors", {}, {}, kInvalid, "there is no tensor to write"},
      {"x.npz", {{"a", good}, {"a", good}}, {}, kInvalid, "\"a\": the name is given twice"},
      {"x.npz", {{"a", good}, {"a.npy", good}}, {}, kInvalid, "the name is given twice"},
      {"x.safetensors", {{"a", good}, {"a", good}}, {}, kInvalid, "the name is given twice"},
      {"x.npz", {{"", good}}, {}, kInvalid, "tensor \"\": has no name"},
      {"x.safetensors", {{"", good}}, {}, kInvalid, "has no name"},
      {"x.npz", {{"\xff", good}}, {}, kInvalid, "the name is not UTF-8"},
      {"x.safetensors", {{"\xff", good}}, {}, kInvalid, "the name is not UTF-8"},
      {"x.npz", {{std::string(1, '\0'), good}}, {}, kInvalid, "the name has a NUL"},
      {"x.npz", {{std::string(60001, 'n'), good}}, {}, kInvalid, "over 60000 bytes"},
      {"x.safetensors", {{"__metadata__", good}}, {}, kInvalid, "keeps this name for itself"},
      {"x.safetensors", {{"a", good}}, {.metadata = {{"k", "\xff"}}}, kInvalid, "is not UTF-8"},
      {"x.npz", {{"a", good}}, {.metadata = {{"k", "v"}}}, kInvalid, "only .safetensors holds"},
      {"x.npy", {{"a", {}}}, {}, kInvalid, "\"a\": there is no tensor"},
      {"x.npy", {{"a", rank5}}, {}, kInvalid, "has rank 5, but a tensor has at most 4"},
      {"x.npy", {{"a", negative}}, {}, kInvalid, "[-1] has a negative extent"},
      {"x.npy", {{"a", huge}}, {}, kInvalid, "over 2^62 bits"},
      {"x.npy", {{"a", null}}, {}, kInvalid, "float32 [2] has no data (a null pointer)"},
      {"x.npy", {{"a", bf16}}, {}, StatusCode::kUnsupported, "is bfloat16, which is not an .npy"},
      {"x.npz", {{"a", bf16}}, {}, StatusCode::kUnsupported, "write .safetensors or convert"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.message);
    expect_error(write(scratch / c.file, c.tensors, c.options), c.code, c.message);
    EXPECT_THAT(scratch.names(), IsEmpty());
  }
}

TEST(Write, RefusesToOverwriteUnlessTold) {
  ScratchDirectory scratch;
  const float data[] = {1.0f};
  for (const char* name : {"x.npy", "x.npz", "x.safetensors"}) {
    write_file(scratch / name, "old");
    expect_error(write(scratch / name, {{"a", TensorView(data, {1})}}), StatusCode::kFileError,
                 std::string(name) + ": already exists");
    EXPECT_EQ(read_file(scratch / name), "old");
    must_write(scratch / name, {{"a", TensorView(data, {1})}}, {.overwrite = true});
    EXPECT_THAT(values<float>(must_read(scratch / name)), ElementsAre(1.0f));
  }
}

// 5 GiB: zip64 in the local header, the directory and the end. Minutes on a slow disk, so only if
// asked for.
TEST(Write, StopsWhenCancelled) {
  ScratchDirectory scratch;
  const float row[] = {1, 2, 3, 4};
  TensorView huge(row, {std::int64_t{1} << 30, 4});  // 16 GiB, so that it can't end first
  huge.strides[0] = 0;
  std::atomic<bool> cancel{false};
  WriteOptions options;
  options.overwrite = true;
  options.cancel = &cancel;
  for (const std::string name : {"x.npy", "x.npz", "x.safetensors"}) {
    SCOPED_TRACE(name);
    const std::string path = scratch / name;
    must_write(path, {{"x", TensorView(row, {4})}}, options);
    const std::string before = read_file(path);
    std::thread user([&] {
      const auto begun = [&] {
        for (const auto& entry : std::filesystem::directory_iterator(scratch / "")) {
          const bool temporary = entry.path().extension() == ".tmp";
          if (temporary && entry.file_size() > std::size_t{16} << 20) return true;
        }
        return false;
      };
      while (!begun()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      cancel = true;
    });
    const Status during = write(path, {{"x", huge}}, options);
    user.join();
    EXPECT_EQ(during.code(), StatusCode::kCancelled) << during.message();
    EXPECT_EQ(write(path, {{"x", TensorView(row, {4})}}, options).code(), StatusCode::kCancelled);
    EXPECT_EQ(read_file(path), before);
    cancel = false;
  }
  EXPECT_THAT(scratch.names(), UnorderedElementsAre("x.npy", "x.npz", "x.safetensors"));
}

TEST(WriteNpz, UsesZip64Above4GiB) {
  if (std::getenv("QKV_TEST_LARGE") == nullptr) GTEST_SKIP() << "set QKV_TEST_LARGE=1 (10 GB)";
  ScratchDirectory scratch;
  const double value = 2.5;
  TensorView large(&value, {5, std::int64_t{1} << 27});
  large.strides = {};
  const Tensor cube = must_read(data_path("cube.npy"));
  must_write(scratch / "x.npz", {{"first", cube}, {"large", large}, {"last", cube}});
  EXPECT_EQ(values<float>(must_read(scratch / "x.npz", "last")), iota24());
  const Tensor read = must_read(scratch / "x.npz", "large");
  ASSERT_EQ(describe(read), "float64 [5, 134217728]");
  EXPECT_EQ(read.data<double>()[0], 2.5);
  EXPECT_EQ(read.data<double>()[read.size() - 1], 2.5);
  const int result = run_check_written("--large \"" + (scratch / "x.npz") + '"');
  EXPECT_THAT(result, ::testing::AnyOf(0, kNoNumpy));
}

}  // namespace
}  // namespace qkv::io
