#include "io/text.h"

#include "io_test_util.h"

namespace qkv::io {
namespace {

TEST(Text, KnowsUtf8) {
  for (const char* good : {"", "abc", "größe", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\x7f"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xe2\x82", "\xe0\x9f\x80", "\xed\xa0\x80",
        "\xf0\x8f\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xfe"}) {
    EXPECT_FALSE(is_utf8(bad)) << printable(bad);
  }
}

TEST(Text, EscapesWhatCannotBePrinted) {
  EXPECT_EQ(printable(std::string_view("a\0b\n\xff\x7f ö", 9)), "a\\x00b\\x0a\\xff\\x7f ö");
  EXPECT_EQ(in_quotes("q"), "\"q\"");
  EXPECT_EQ(in_quotes(std::string(200, 'q')), '"' + std::string(80, 'q') + "...\"");
}

TEST(Text, CutsLongShapes) {
  EXPECT_EQ(shape_text({}), "[]");
  const std::int64_t ten[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(shape_text(std::span(ten).first(3)), "[1, 2, 3]");
  EXPECT_EQ(shape_text(ten), "[1, 2, 3, 4, 5, 6, 7, 8, ...]");
}

TEST(Text, CountsBytes) {
  EXPECT_EQ(bytes_text(1), "1 byte");
  EXPECT_EQ(bytes_text(0), "0 bytes");
}

}  // namespace
}  // namespace qkv::io
