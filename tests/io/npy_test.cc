// .npy files that NumPy wrote, against values written out here.
#include <array>
#include <cstdint>
#include <limits>

#include "io_test_util.h"

namespace qkv::io {
namespace {

template <class T>
void expect_typed(const std::string& kind, DType dtype, const std::vector<T>& expected) {
  for (const char* order : {"_little.npy", "_big.npy"}) {
    const std::string name = kind + order;
    SCOPED_TRACE(name);
    const Tensor tensor = must_read(data_path(name));
    EXPECT_EQ(tensor.dtype(), dtype);
    ASSERT_EQ(shape_string(tensor), "[3]");
    EXPECT_EQ(values<T>(tensor), expected);
  }
}

TEST(Npy, ReadsEveryTypeInBothByteOrders) {
  expect_typed<std::uint16_t>("f2", DType::kFloat16, {0x3e00, 0xc000, 0x7bff});
  expect_typed<float>("f4", DType::kFloat32, {1.5f, -2.0f, std::numeric_limits<float>::max()});
  expect_typed<double>("f8", DType::kFloat64, {1.5, -2.0, std::numeric_limits<double>::max()});
  expect_typed<std::uint8_t>("b1", DType::kBool, {1, 0, 1});
  expect_typed<std::int8_t>("i1", DType::kInt8, {-128, 0, 127});
  expect_typed<std::int16_t>("i2", DType::kInt16, {-32768, 1, 32767});
  expect_typed<std::int32_t>("i4", DType::kInt32, {INT32_MIN, 1, INT32_MAX});
  expect_typed<std::int64_t>("i8", DType::kInt64, {INT64_MIN, 1, INT64_MAX});
  expect_typed<std::uint8_t>("u1", DType::kUInt8, {0, 1, 255});
  expect_typed<std::uint16_t>("u2", DType::kUInt16, {0, 1, 65535});
  expect_typed<std::uint32_t>("u4", DType::kUInt32, {0, 1, UINT32_MAX});
  expect_typed<std::uint64_t>("u8", DType::kUInt64, {0, 1, UINT64_MAX});
}

TEST(Npy, ReadsEveryVersion) {
  for (const char* name : {"cube.npy", "version2.npy", "version3.npy"}) {
    SCOPED_TRACE(name);
    const Tensor tensor = must_read(data_path(name));
    EXPECT_EQ(describe(tensor), "float32 [2, 3, 4]");
    EXPECT_EQ(values<float>(tensor), iota24());
  }
}

TEST(Npy, KeepsFortranOrderAsStrides) {
  for (const char* name : {"cube_fortran.npy", "cube_fortran_big.npy"}) {
    SCOPED_TRACE(name);
    const Tensor tensor = must_read(data_path(name));
    EXPECT_EQ(describe(tensor), "float32 [2, 3, 4]");
    EXPECT_EQ(tensor.view().strides, (Extents{1, 2, 6, 0}));
    EXPECT_EQ(values<float>(tensor), iota24());
  }
}

TEST(Npy, ReadsScalarEmptyAndRank4) {
  const Tensor scalar = must_read(data_path("scalar.npy"));
  EXPECT_EQ(describe(scalar), "float32 []");
  EXPECT_EQ(values<float>(scalar), std::vector<float>{7.25f});
  EXPECT_EQ(describe(must_read(data_path("empty.npy"))), "float32 [3, 0, 2]");
  const Tensor rank4 = must_read(data_path("rank4.npy"));
  EXPECT_EQ(describe(rank4), "float32 [2, 3, 2, 2]");
  EXPECT_EQ(values<float>(rank4), iota24());
}

TEST(Npy, MapsInPlaceAndCopiesOnlySwappedData) {
  Reader reader;
  ASSERT_TRUE(Reader::open(data_path("cube_fortran.npy"), reader).ok());
  Tensor first;
  Tensor second;
  ASSERT_TRUE(reader.read("", first).ok());
  ASSERT_TRUE(reader.read("", second).ok());
  EXPECT_EQ(first.view().data, second.view().data);
  ASSERT_TRUE(Reader::open(data_path("cube_fortran_big.npy"), reader).ok());
  ASSERT_TRUE(reader.read("", first).ok());
  ASSERT_TRUE(reader.read("", second).ok());
  EXPECT_NE(first.view().data, second.view().data);
}

TEST(Npy, TensorOutlivesItsReader) {
  Tensor tensor;
  {
    Reader reader;
    ASSERT_TRUE(Reader::open(data_path("cube.npy"), reader).ok());
    ASSERT_TRUE(reader.read("", tensor).ok());
  }
  EXPECT_EQ(values<float>(tensor), iota24());
}

TEST(Npy, SaysWhatTheHeaderSays) {
  Reader reader;
  ASSERT_TRUE(Reader::open(data_path("rank5.npy"), reader).ok());
  ASSERT_EQ(reader.arrays().size(), 1u);
  EXPECT_EQ(reader.arrays()[0].name, "");
  EXPECT_EQ(reader.arrays()[0].dtype, "<f4");
  EXPECT_EQ(reader.arrays()[0].shape, (std::vector<std::int64_t>{2, 3, 2, 2, 1}));
  EXPECT_TRUE(reader.metadata().empty());
  Tensor tensor;
  expect_error(reader.read("", tensor), StatusCode::kUnsupported,
               "rank5.npy: has rank 5 (shape [2, 3, 2, 2, 1]), but a tensor has at most 4");
  EXPECT_FALSE(tensor.defined());
}

TEST(Npy, RefusesForeignTypesWhenRead) {
  struct Case {
    const char* file;
    const char* dtype;
    const char* message;
  };
  const Case cases[] = {
      {"complex.npy", "<c8", "complex numbers"},
      {"unicode.npy", "<U3", "strings"},
      {"bytes.npy", "|S3", "strings"},
      {"object.npy", "|O", "Python objects"},
      {"structured.npy", "[('a', '<f4'), (\"it's\", '>i8', (2,))]", "structured type"},
      {"void.npy", "<V2", "bfloat16 is not an .npy type); save bfloat16 as .safetensors"},
      {"longdouble.npy", "<f16", "extended floating point"},
      {"datetime.npy", "<M8[D]", "an element type that qkv does not have"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.file);
    Reader reader;
    const Status opened = Reader::open(data_path(c.file), reader);
    ASSERT_TRUE(opened.ok()) << opened.message();
    EXPECT_EQ(reader.arrays()[0].dtype, c.dtype);
    Tensor tensor;
    expect_error(reader.read("", tensor), StatusCode::kUnsupported, c.message);
  }
}

TEST(Npy, ChecksTheSizeOfForeignTypesToo) {
  std::string content = read_file(data_path("complex.npy"));
  content.pop_back();
  expect_error(open_bytes(content, Format::kNpy), StatusCode::kFileError, "takes 8 bytes, but 7");
}

TEST(Npy, RefusesDataThatDoNotFit) {
  const std::string content = read_file(data_path("cube.npy"));
  expect_error(
      open_bytes(content.substr(0, content.size() - 4), Format::kNpy), StatusCode::kFileError,
      "f: an array \"<f4\" [2, 3, 4] takes 96 bytes, but 92 bytes follow the header; it is "
      "truncated");
  expect_error(open_bytes(content + "x", Format::kNpy), StatusCode::kFileError,
               "takes 96 bytes, but 97 bytes follow the header; it is damaged");
}

TEST(Npy, HasNoNames) {
  Reader reader;
  ASSERT_TRUE(Reader::open(data_path("cube.npy"), reader).ok());
  Tensor tensor;
  expect_error(reader.read("q", tensor), StatusCode::kInvalidArgument, "has no array \"q\"");
}

TEST(Reader, WithoutAFile) {
  const Reader reader;
  Tensor tensor;
  EXPECT_TRUE(reader.arrays().empty());
  EXPECT_TRUE(reader.metadata().empty());
  expect_error(reader.read("", tensor), StatusCode::kInvalidArgument, "no file is open");
}

TEST(Reader, FailedOpenKeepsTheOldFile) {
  Reader reader;
  ASSERT_TRUE(Reader::open(data_path("cube.npy"), reader).ok());
  EXPECT_FALSE(Reader::open(data_path("missing.npy"), reader).ok());
  EXPECT_EQ(reader.arrays().size(), 1u);
  Reader other = std::move(reader);
  EXPECT_EQ(other.arrays().size(), 1u);
}

}  // namespace
}  // namespace qkv::io
