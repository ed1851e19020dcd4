#include "io_test_util.h"

namespace qkv::io {
namespace {

TEST(Format, ComesFromTheEnding) {
  Format format{};
  ASSERT_TRUE(format_of("a/b.npy", format).ok());
  EXPECT_EQ(format, Format::kNpy);
  ASSERT_TRUE(format_of("b.npy.NPZ", format).ok());
  EXPECT_EQ(format, Format::kNpz);
  ASSERT_TRUE(format_of("model.safetensors", format).ok());
  EXPECT_EQ(format, Format::kSafetensors);
}

TEST(Format, NamesTheEndingsThereAre) {
  Format format{};
  for (const char* path : {"", "npy", "x.pt", "x.npy/", "x.npy "}) {
    expect_error(format_of(path, format), StatusCode::kInvalidArgument,
                 "end it with .npy, .npz or .safetensors");
  }
  Reader reader;
  expect_error(Reader::open("x.pt", reader), StatusCode::kInvalidArgument, "\"x.pt\"");
  expect_error(write("x.pt", {}), StatusCode::kInvalidArgument, "\"x.pt\"");
}

}  // namespace
}  // namespace qkv::io
