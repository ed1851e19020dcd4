// Every truncation of a small file, and every change of one byte, is an error or a result: never a
// crash and never a read outside the bytes (the sanitizers see to that: the bytes are on the heap).
#include <ostream>

#include "io_test_util.h"

namespace qkv::io {
namespace {

struct Sample {
  const char* name;
  Format format;
};

void PrintTo(const Sample& sample, std::ostream* stream) { *stream << sample.name; }

constexpr Sample kSamples[] = {
    {"cube_fortran_big.npy", Format::kNpy},
    {"version2.npy", Format::kNpy},
    {"structured.npy", Format::kNpy},
    {"stored.npz", Format::kNpz},
    {"deflated.npz", Format::kNpz},
    {"zip64.npz", Format::kNpz},
    {"mixed.npz", Format::kNpz},
    {"cube.safetensors", Format::kSafetensors},
    {"typed.safetensors", Format::kSafetensors},
};

class Hostile : public ::testing::TestWithParam<Sample> {};

TEST_P(Hostile, EveryTruncationIsACleanError) {
  const std::string content = read_file(data_path(GetParam().name));
  // A structured type's size is not known, so its data may end anywhere.
  const std::size_t first_good =
      GetParam().name == std::string("structured.npy") ? 128 : content.size();
  for (std::size_t length = 0; length < first_good; ++length) {
    const Status status = open_bytes(content.substr(0, length), GetParam().format);
    ASSERT_EQ(status.code(), StatusCode::kFileError) << "of length " << length;
    ASSERT_TRUE(status.message().starts_with("f: ")) << status.message();
  }
}

TEST_P(Hostile, NoChangeOfOneByteCrashes) {
  const std::string content = read_file(data_path(GetParam().name));
  std::size_t refused = 0;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const auto old = static_cast<unsigned char>(content[i]);
    for (const unsigned value : {0u, 1u, 0x22u, 0x27u, 0x2du, 0x39u, 0x5bu, 0x7du, 0x7fu, 0x80u,
                                 0xffu, old ^ 1u, old ^ 0x80u, old + 1u}) {
      std::string damaged = content;
      damaged[i] = static_cast<char>(value);
      const Status status = read_all(damaged, GetParam().format);
      if (status.ok()) continue;
      ++refused;
      ASSERT_TRUE(status.message().starts_with("f: ")) << status.message();
    }
  }
  EXPECT_GT(refused, content.size());
}

TEST_P(Hostile, TruncationsOnDiskToo) {
  ScratchDirectory scratch;
  const std::string content = read_file(data_path(GetParam().name));
  const std::string path =
      scratch / ("cut" + std::filesystem::path(GetParam().name).extension().string());
  for (const std::size_t length : {std::size_t{1}, std::size_t{9}, content.size() / 2}) {
    write_file(path, content.substr(0, length));
    Reader reader;
    expect_error(Reader::open(path, reader), StatusCode::kFileError, path + ": ");
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Hostile, ::testing::ValuesIn(kSamples), [](const auto& sample) {
  std::string name = sample.param.name;
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
});

}  // namespace
}  // namespace qkv::io
