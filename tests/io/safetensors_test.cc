// .safetensors files that the safetensors package wrote, against values written out here.
#include <cstdint>
#include <limits>

#include "io_test_util.h"

namespace qkv::io {
namespace {

using ::testing::ElementsAre;

template <class T>
void expect_typed(const std::string& name, DType dtype, const std::vector<T>& expected) {
  SCOPED_TRACE(name);
  const Tensor tensor = must_read(data_path("typed.safetensors"), name);
  EXPECT_EQ(tensor.dtype(), dtype);
  ASSERT_EQ(shape_string(tensor), "[3]");
  EXPECT_EQ(values<T>(tensor), expected);
}

TEST(Safetensors, ReadsEveryType) {
  expect_typed<std::uint16_t>("x_bf16", DType::kBFloat16, {0x3fc0, 0xc000, 0x4040});
  expect_typed<std::uint16_t>("x_f2", DType::kFloat16, {0x3e00, 0xc000, 0x7bff});
  expect_typed<float>("x_f4", DType::kFloat32, {1.5f, -2.0f, std::numeric_limits<float>::max()});
  expect_typed<double>("x_f8", DType::kFloat64, {1.5, -2.0, std::numeric_limits<double>::max()});
  expect_typed<std::uint8_t>("x_b1", DType::kBool, {1, 0, 1});
  expect_typed<std::int8_t>("x_i1", DType::kInt8, {-128, 0, 127});
  expect_typed<std::int16_t>("x_i2", DType::kInt16, {-32768, 1, 32767});
  expect_typed<std::int32_t>("x_i4", DType::kInt32, {INT32_MIN, 1, INT32_MAX});
  expect_typed<std::int64_t>("x_i8", DType::kInt64, {INT64_MIN, 1, INT64_MAX});
  expect_typed<std::uint8_t>("x_u1", DType::kUInt8, {0, 1, 255});
  expect_typed<std::uint16_t>("x_u2", DType::kUInt16, {0, 1, 65535});
  expect_typed<std::uint32_t>("x_u4", DType::kUInt32, {0, 1, UINT32_MAX});
  expect_typed<std::uint64_t>("x_u8", DType::kUInt64, {0, 1, UINT64_MAX});
}

TEST(Safetensors, ReadsShapesAndMetadata) {
  const std::string path = data_path("cube.safetensors");
  Reader reader;
  ASSERT_TRUE(Reader::open(path, reader).ok());
  EXPECT_EQ(reader.metadata(), (std::map<std::string, std::string>{{"format", "np"}}));
  ASSERT_EQ(reader.arrays().size(), 3u);
  EXPECT_EQ(reader.arrays()[0].name, "cube");
  EXPECT_EQ(reader.arrays()[0].dtype, "F32");
  EXPECT_THAT(reader.arrays()[0].shape, ElementsAre(2, 3, 4));
  const Tensor cube = must_read(path, "cube");
  EXPECT_EQ(describe(cube), "float32 [2, 3, 4]");
  EXPECT_EQ(values<float>(cube), iota24());
  EXPECT_THAT(values<float>(must_read(path, "scalar")), ElementsAre(7.25f));
  EXPECT_EQ(describe(must_read(path, "scalar")), "float32 []");
  EXPECT_EQ(describe(must_read(path, "empty")), "float32 [3, 0]");
}

TEST(Safetensors, MapsInPlaceIfAligned) {
  Reader reader;
  ASSERT_TRUE(Reader::open(data_path("cube.safetensors"), reader).ok());
  Tensor first;
  Tensor second;
  ASSERT_TRUE(reader.read("cube", first).ok());
  ASSERT_TRUE(reader.read("cube", second).ok());
  EXPECT_EQ(first.view().data, second.view().data);
}

TEST(Safetensors, CopiesDataThatStartAtAnOddByte) {
  Reader reader;
  ASSERT_TRUE(Reader::open(data_path("odd.safetensors"), reader).ok());
  Tensor first;
  Tensor second;
  ASSERT_TRUE(reader.read("x", first).ok());
  ASSERT_TRUE(reader.read("x", second).ok());
  EXPECT_NE(first.view().data, second.view().data);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.view().data) % 64, 0u);
  EXPECT_THAT(values<float>(first), ElementsAre(1.0f, 2.0f));
  EXPECT_EQ(reader.metadata().at("a"), "");
}

TEST(Safetensors, RefusesFloat8OnlyWhenRead) {
  Reader reader;
  const Status status = Reader::open(data_path("float8.safetensors"), reader);
  ASSERT_TRUE(status.ok()) << status.message();
  Tensor tensor;
  expect_error(
      reader.read("f8", tensor), StatusCode::kUnsupported,
      "float8.safetensors: array \"f8\": \"F8_E4M3\" is an element type that qkv does not have");
  ASSERT_TRUE(reader.read("x", tensor).ok());
  EXPECT_THAT(values<float>(tensor), ElementsAre(1.0f));
}

TEST(Safetensors, RefusesRank5OnlyWhenRead) {
  const std::string header = R"({"x":{"dtype":"F32","shape":[1,1,1,1,1],"data_offsets":[0,4]}})";
  std::string content(8, '\0');
  content[0] = static_cast<char>(header.size());
  std::unique_ptr<ArrayFile> file;
  ASSERT_TRUE(open_bytes(content + header + "1234", Format::kSafetensors, file).ok());
  Tensor tensor;
  expect_error(file->read("x", tensor), StatusCode::kUnsupported, "has rank 5");
}

TEST(Safetensors, NamesWhatThereIs) {
  Reader reader;
  ASSERT_TRUE(Reader::open(data_path("cube.safetensors"), reader).ok());
  Tensor tensor;
  expect_error(reader.read("q", tensor), StatusCode::kInvalidArgument,
               "cube.safetensors: has no array \"q\"; it holds \"cube\", \"empty\", \"scalar\"");
}

}  // namespace
}  // namespace qkv::io
