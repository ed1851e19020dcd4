#include "io/npy_header.h"

#include "io_test_util.h"

namespace qkv::io {
namespace {

// A version 1 file of one float with this header text.
std::string npy(const std::string& text, const std::string& data = "1234") {
  std::string content("\x93NUMPY\x01\x00", 8);
  content += static_cast<char>(text.size() & 0xff);
  content += static_cast<char>(text.size() >> 8);
  return content + text + data;
}

Status open(const std::string& text) { return open_bytes(npy(text), Format::kNpy); }

TEST(NpyHeader, TakesEverySpellingOfOneDictionary) {
  for (const char* text : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }  \n",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
           "{'shape':(1,),'fortran_order':True,'descr':'<f4'}",
           " {\n\t\"descr\" :\"<f4\" , \"shape\": ( 1 , ) , \"fortran_order\": False ,\r\n} \t\n",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1L,), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1,), }",
       }) {
    const Status status = open(text);
    EXPECT_TRUE(status.ok()) << text << ": " << status.message();
  }
}

TEST(NpyHeader, RefusesEverythingElse) {
  const std::string rest = "'fortran_order': False, 'shape': (1,), }";
  const std::string front = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  struct Case {
    std::string text;
    const char* message;
  };
  const Case cases[] = {
      {"", "no '{' at byte 0"},
      {"[]", "no '{'"},
      {"{}", "is missing"},
      {"{'descr': '<f4', 'shape': (1,), }", "is missing"},
      {"{'descr': '<f4', 'descr': '<f4', " + rest, "key \"descr\" twice"},
      {"{'descr': '<f4', 'extra': '<f4', " + rest, "unknown key \"extra\""},
      {"{'descr' '<f4', " + rest, "no ':' after a key"},
      {"{'descr': '<f4' " + rest, "neither ',' nor '}'"},
      {"{descr: '<f4', " + rest, "no string"},
      {"{'descr': <f4, " + rest, "no string"},
      {"{'descr': '<f4, " + rest, "neither ',' nor '}'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x", "a string without end"},
      {"{'descr': '<\\x664', " + rest, "a backslash, newline or NUL in a string"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", "neither True nor False"},
      {front + "(1)}", "'shape' is a number, not a tuple"},
      {front + "1}", "'shape' is not a tuple"},
      {front + "[1]}", "'shape' is not a tuple"},
      {front + "(,)}", "not a tuple of whole numbers"},
      {front + "(1 1)}", "no ',' between extents"},
      {front + "(1,,)}", "not a tuple of whole numbers"},
      {front + "(1.0,)}", "no ',' between extents"},
      {front + "(0x1,)}", "no ',' between extents"},
      {front + "(01,)}", "an extent with a leading 0"},
      {front + "(-1,)}", "a negative extent"},
      {front + "(9223372036854775808,)}", "an extent above 2^63 - 1"},
      {front + "(99999999999999999999999999,)}", "an extent above 2^63 - 1"},
      {front + "(1,), } x", "text after the closing '}'"},
      {front + "(1,), }" + std::string(3, '\0'), "NUL padding"},
      {front + "(1,)", "neither ',' nor '}'"},
      {"{'descr': [('a', '<f4'], " + rest, "brackets of 'descr' that don't match"},
      {"{'descr': [('a', '<f4'), ", "a structured 'descr' without end"},
      {"{'descr': " + std::string(65, '['), "nested more than 64 deep"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    expect_error(open(c.text), StatusCode::kFileError, c.message);
  }
}

TEST(NpyHeader, RefusesManyExtents) {
  std::string shape = "(";
  for (int i = 0; i < 65; ++i) shape += "1,";
  expect_error(open("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ")}"),
               StatusCode::kFileError, "more than 64 extents");
}

TEST(NpyHeader, RefusesOverflowingShapes) {
  for (const char* shape : {"(4611686018427387904, 4)", "(9223372036854775807,)",
                            "(0, 4611686018427387904, 4611686018427387904)"}) {
    SCOPED_TRACE(shape);
    expect_error(
        open("{'descr': '<f4', 'fortran_order': False, 'shape': " + std::string(shape) + "}"),
        StatusCode::kFileError, "size overflows");
  }
}

TEST(NpyHeader, RefusesOddTypes) {
  for (const char* descr : {"f4", "=f4", "|f4", "<f04", "<f3", "<i16", "<x4", "", "<", "<f",
                            "<f99999999999999999999", "float32"}) {
    SCOPED_TRACE(descr);
    const std::string text =
        "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (0,)}";
    std::unique_ptr<ArrayFile> file;
    const Status status = open_bytes(npy(text, ""), Format::kNpy, file);
    ASSERT_TRUE(status.ok()) << status.message();
    Tensor tensor;
    expect_error(file->read("", tensor), StatusCode::kUnsupported, "f: \"");
  }
}

TEST(NpyHeader, RefusesOtherFilesAndVersions) {
  expect_error(open_bytes("PK\3\4 is a zip", Format::kNpy), StatusCode::kFileError,
               "does not begin with the .npy magic bytes");
  expect_error(open_bytes(std::string("\x93NUMPY\x04\x00\x00\x00\x00\x00", 12), Format::kNpy),
               StatusCode::kUnsupported, "is of .npy version 4.0");
  expect_error(open_bytes(std::string("\x93NUMPY\x01\x01\x00\x00\x00\x00", 12), Format::kNpy),
               StatusCode::kUnsupported, "is of .npy version 1.1");
}

TEST(NpyHeader, RefusesLengthsOutsideTheFile) {
  expect_error(open_bytes(read_file(data_path("cube.npy")).substr(0, 127), Format::kNpy),
               StatusCode::kFileError, "has 127 bytes but its .npy header alone takes 128 bytes");
  expect_error(open_bytes(std::string("\x93NUMPY\x01\x00\xff\xff{}", 12), Format::kNpy),
               StatusCode::kFileError, "has 12 bytes but its .npy header alone takes 65545 bytes");
  expect_error(open_bytes(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14), Format::kNpy),
               StatusCode::kFileError, "has an .npy header of 4294967295 bytes");
}

TEST(NpyHeader, WritesWhatNumpyWrites) {
  const auto header_of = [](const char* file) { return read_file(data_path(file)).substr(0, 128); };
  const std::int64_t cube[] = {2, 3, 4};
  EXPECT_EQ(format_npy_header(DType::kFloat32, cube), header_of("cube.npy"));
  EXPECT_EQ(format_npy_header(DType::kFloat32, {}), header_of("scalar.npy"));
  const std::int64_t three[] = {3};
  EXPECT_EQ(format_npy_header(DType::kBool, three), header_of("b1_little.npy"));
  EXPECT_EQ(format_npy_header(DType::kUInt64, three), header_of("u8_little.npy"));
  const std::int64_t empty[] = {3, 0, 2};
  EXPECT_EQ(format_npy_header(DType::kFloat32, empty), header_of("empty.npy"));
  const std::int64_t longest[] = {0, 100000, 100000, 1000000};
  EXPECT_EQ(format_npy_header(DType::kFloat32, longest), header_of("longest.npy"));
}

}  // namespace
}  // namespace qkv::io
