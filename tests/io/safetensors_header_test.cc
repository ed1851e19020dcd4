// Headers that a .safetensors file must not have, and those it may.
#include "io/safetensors_header.h"

#include "io_test_util.h"

namespace qkv::io {
namespace {

std::string file_of(const std::string& header, std::size_t data_bytes = 4) {
  std::string content(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) content[i] = static_cast<char>(header.size() >> (8 * i));
  return content + header + std::string(data_bytes, 'x');
}

Status open(const std::string& header, std::size_t data_bytes = 4) {
  return open_bytes(file_of(header, data_bytes), Format::kSafetensors);
}

const char kX[] = R"("x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return '"' + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

TEST(SafetensorsHeader, TakesWhatTheFormatAllows) {
  const std::string x = kX;
  const std::string brace = "{";
  const std::string good[] = {
      "{" + x + "}",
      "{" + x + "}   \n",
      "{ " + x + ",\n\"__metadata__\": {\"a\": \"1\", \"b\": \"\"}}",
      "{\"__metadata__\":null," + x + "}",
      "{\"__metadata__\":{}," + x + "}",
      R"({"x":{"data_offsets":[0,4],"shape":[],"dtype":"F32"}})",
      brace + tensor("", "F32", "[1]", "[0,4]") + "}",
      brace + tensor("\\u00e9\\n", "F32", "[1]", "[0,4]") + "}",
      // Empty tensors take no room, wherever they say they are.
      brace + tensor("e", "F32", "[0,7]", "[4,4]") + "," + x + "}",
      // The header's order need not be the data's.
      brace + tensor("b", "U8", "[3]", "[1,4]") + "," + tensor("a", "U8", "[1]", "[0,1]") + "}",
      brace + tensor("f4", "F4", "[8]", "[0,4]") + "}",
      brace + tensor("new", "Q99", "[5]", "[0,4]") + "}",
  };
  for (const std::string& header : good) {
    const Status status = open(header);
    EXPECT_TRUE(status.ok()) << header << ": " << status.message();
  }
  EXPECT_TRUE(open("{}", 0).ok());
}

TEST(SafetensorsHeader, RefusesWhatIsNotTheFormat) {
  const std::string x = kX;
  struct Case {
    std::string header;
    const char* message;
  };
  const Case cases[] = {
      {"", "does not begin with '{'"},
      {" {" + x + "}", "does not begin with '{'"},
      {"\xef\xbb\xbf{" + x + "}", "does not begin with '{'"},
      {"[]", "does not begin with '{'"},
      {"{" + x, "is not JSON from byte"},
      {"{" + x + "} x", "is not JSON from byte"},
      {"{" + x + "}" + std::string(4, '\0'), "the header has a NUL byte at 54"},
      {"{" + x + "}" + std::string(1, '\0') + " ", "has a NUL byte at 54"},
      {"{\"x\xff\":1}", "is not JSON from byte"},
      {"{'x':1}", "is not JSON from byte"},
      {"{// comment\n" + x + "}", "is not JSON from byte"},
      {"{" + x + "," + x + "}", "has the name \"x\" twice"},
      {"{\"__metadata__\":{},\"__metadata__\":{}," + x + "}", "name \"__metadata__\" twice"},
      {"{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}," + x + "}",
       "has the key \"a\" twice in \"__metadata__\""},
      {"{\"__metadata__\":{\"a\":1}," + x + "}", "has a number where \"a\" stands"},
      {"{\"__metadata__\":{\"a\":{}}," + x + "}", "has an object where \"a\" stands"},
      {"{\"__metadata__\":{\"a\":[]}," + x + "}", "has an array where \"a\" stands"},
      {"{\"__metadata__\":{\"a\":null}," + x + "}", "has null where \"a\" stands"},
      {"{\"__metadata__\":[]," + x + "}", "has an array where"},
      {"{\"x\":null}", "has null where \"x\" stands"},
      {"{\"x\":\"F32\"}", "has a string where \"x\" stands"},
      {"{\"x\":{}}", "lacks \"dtype\" of \"x\""},
      {R"({"x":{"dtype":"F32"}})", "lacks \"shape\" of \"x\""},
      {R"({"x":{"dtype":"F32","shape":[1]}})", "lacks \"data_offsets\" of \"x\""},
      {R"({"x":{"dtype":"F32","dtype":"F32"}})", "has \"dtype\" twice in tensor \"x\""},
      {R"({"x":{"shape":[],"shape":[]}})", "has \"shape\" twice in tensor \"x\""},
      {R"({"x":{"strides":[1]}})", "has the unknown key \"strides\" in tensor \"x\""},
      {R"({"x":{"dtype":1}})", "has a number where \"dtype\" of tensor \"x\" stands"},
      {R"({"x":{"dtype":["F32"]}})", "has an array where \"dtype\" of tensor \"x\" stands"},
      {R"({"x":{"shape":1}})", "has a number where \"shape\" of tensor \"x\" stands"},
      {R"({"x":{"shape":"1"}})", "has a string where \"shape\" of tensor \"x\" stands"},
      {R"({"x":{"shape":{}}})", "has an object where \"shape\" of tensor \"x\" stands"},
      {R"({"x":{"shape":[[1]]}})", "has an array where \"shape\" of tensor \"x\" stands"},
      {R"({"x":{"shape":[true]}})", "has a boolean where \"shape\" of tensor \"x\" stands"},
      {R"({"x":{"shape":[-1]}})", "has a negative number where \"shape\" of tensor \"x\""},
      {R"({"x":{"shape":[1.0]}})", "has the number \"1.0\", which is not whole"},
      {R"({"x":{"shape":[9223372036854775808]}})", "has an extent above 2^63 - 1"},
      {R"({"x":{"shape":[18446744073709551616]}})", "which is not whole or above 2^64 - 1"},
      {R"({"x":{"data_offsets":[0]}})", "has fewer than two numbers where \"data_offsets\""},
      {R"({"x":{"data_offsets":[0,4,8]}})", "has more than two numbers where \"data_offsets\""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.header);
    expect_error(open(c.header), StatusCode::kFileError, c.message);
  }
}

TEST(SafetensorsHeader, RefusesOffsetsThatDoNotFit) {
  struct Case {
    std::string tensors;
    const char* message;
  };
  const Case cases[] = {
      {tensor("x", "F32", "[1000,1000]", "[0,4]"),
       "f: tensor \"x\", F32 [1000, 1000], takes 4000000 bytes but its data_offsets [0, 4] span 4"},
      {tensor("x", "F32", "[1]", "[0,8]"),
       "the data_offsets [0, 8] of tensor \"x\" are not inside the 4 bytes of data"},
      {tensor("x", "F32", "[1]", "[4,0]"), "the data_offsets [4, 0] of tensor \"x\""},
      {tensor("x", "F32", "[1]", "[18446744073709551612,18446744073709551615]"),
       "are not inside the 4 bytes"},
      {tensor("x", "U8", "[3]", "[1,4]"), "leave a hole before the data that end at 0"},
      {tensor("x", "U8", "[1]", "[0,1]") + "," + tensor("y", "U8", "[2]", "[2,4]"),
       "data_offsets [2, 4] of tensor \"y\" leave a hole before the data that end at 1"},
      {tensor("x", "U8", "[3]", "[0,3]") + "," + tensor("y", "U8", "[2]", "[2,4]"),
       "data_offsets [2, 4] of tensor \"y\" overlap the data that end at 3"},
      {tensor("x", "U8", "[4]", "[0,4]") + "," + tensor("y", "U8", "[4]", "[0,4]"), "overlap"},
      {tensor("x", "U8", "[3]", "[0,3]"), "the tensors cover 3 bytes but 4 follow the header"},
      {tensor("x", "F4", "[9]", "[0,4]"), "takes 5 bytes but its data_offsets [0, 4] span 4"},
      {tensor("x", "U8", "[4611686018427387904,4]", "[0,4]"), "overflows"},
      {tensor("x", "Q9", "[4611686018427387904,4]", "[0,4]"), "overflows"},
      {tensor("x", "U8", "[0,9223372036854775807,9223372036854775807]", "[0,0]"), "overflows"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.tensors);
    expect_error(open("{" + c.tensors + "}"), StatusCode::kFileError, c.message);
  }
}

TEST(SafetensorsHeader, RefusesLengthsOutsideTheFile) {
  const auto with_length = [](std::string content, std::uint64_t length) {
    for (std::size_t i = 0; i < 8; ++i) content[i] = static_cast<char>(length >> (8 * i));
    return open_bytes(content, Format::kSafetensors);
  };
  const std::string content = file_of("{}", 0);
  expect_error(with_length(content, std::uint64_t{1} << 63), StatusCode::kFileError,
               "f: says its header has 9223372036854775808 bytes, but only 2 follow");
  expect_error(with_length(content, 3), StatusCode::kFileError,
               "says its header has 3 bytes, but only 2 follow");
  expect_error(with_length(content, ~std::uint64_t{0}), StatusCode::kFileError, "but only 2");
  expect_error(open_bytes("1234567", Format::kSafetensors), StatusCode::kFileError,
               "has 7 bytes, less than the 8 that say how long the header is");
}

TEST(SafetensorsHeader, RefusesAHeaderAboveTheLimit) {
  const std::string header = "{" + std::string(kMaxSafetensorsHeader, ' ');
  expect_error(open(header, 0), StatusCode::kFileError,
               "has a header of 100000001 bytes, above the limit of 100000000");
}

// Nesting costs no stack.
TEST(SafetensorsHeader, SurvivesDeepNesting) {
  std::string header = "{\"x\":{\"shape\":";
  header.append(1'000'000, '[');
  expect_error(open(header), StatusCode::kFileError, "has an array where \"shape\"");
}

}  // namespace
}  // namespace qkv::io
