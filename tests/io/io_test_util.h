// What the tests of src/io share.
#ifndef QKV_TESTS_IO_IO_TEST_UTIL_H_
#define QKV_TESTS_IO_IO_TEST_UTIL_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/array_file.h"
#include "io/mapped_file.h"
#include "qkv/io.h"
#include "qkv/tensor.h"

namespace qkv::io {

inline std::string data_path(const std::string& name) {
  return std::string(QKV_IO_TEST_DIR) + "/data/" + name;
}

inline std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream.good()) << path;
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::string& path, std::string_view content) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  EXPECT_TRUE(stream.good()) << path;
}

// A new directory, removed at the end.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "qkv-io-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      result.push_back(entry.path().filename().string());
    }
    return result;
  }

 private:
  std::filesystem::path path_;
};

// The row-major elements of any view.
template <class T>
std::vector<T> values(const TensorView& view) {
  std::vector<T> result;
  Extents extents{1, 1, 1, 1};
  Extents strides{};
  for (int axis = 0; axis < view.rank; ++axis) {
    extents[axis] = view.extents[axis];
    strides[axis] = view.strides[axis];
  }
  const auto* data = static_cast<const T*>(view.data);
  for (std::int64_t a = 0; a < extents[0]; ++a)
    for (std::int64_t b = 0; b < extents[1]; ++b)
      for (std::int64_t c = 0; c < extents[2]; ++c)
        for (std::int64_t d = 0; d < extents[3]; ++d)
          result.push_back(data[a * strides[0] + b * strides[1] + c * strides[2] + d * strides[3]]);
  return result;
}

inline std::vector<float> iota24() {
  std::vector<float> result;
  for (int i = 0; i < 24; ++i) result.push_back(static_cast<float>(i));
  return result;
}

// Opens the file and reads one array; the test fails if either does.
inline Tensor must_read(const std::string& path, std::string_view name = "") {
  Reader reader;
  Status status = Reader::open(path, reader);
  EXPECT_TRUE(status.ok()) << status.message();
  Tensor tensor;
  status = reader.read(name, tensor);
  EXPECT_TRUE(status.ok()) << status.message();
  return tensor;
}

// Opens bytes as a file named "f.<ending>" would be, on the heap, where a sanitizer guards them.
inline Status open_bytes(std::string_view content, Format format,
                         std::unique_ptr<ArrayFile>& file) {
  const auto bytes = std::as_bytes(std::span(content.data(), content.size()));
  return open_arrays(MappedFile::from_memory("f", bytes), format, file);
}

inline Status open_bytes(std::string_view content, Format format) {
  std::unique_ptr<ArrayFile> file;
  return open_bytes(content, format, file);
}

// Opens and reads every array, touching all elements; the first error, or ok.
inline Status read_all(std::string_view content, Format format) {
  std::unique_ptr<ArrayFile> file;
  if (Status status = open_bytes(content, format, file); !status.ok()) return status;
  Status first;
  for (const ArrayInfo& info : file->arrays()) {
    Tensor tensor;
    Status status = file->read(info.name, tensor);
    if (status.ok()) {
      std::vector<std::byte> copy(static_cast<std::size_t>(tensor.size()) *
                                  size_of(tensor.dtype()));
      if (!copy.empty()) std::memcpy(copy.data(), tensor.view().data, copy.size());
    } else if (first.ok()) {
      first = status;
    }
  }
  return first;
}

// Runs check_written.py. 0 if the files are right, kNoNumpy if no Python here could tell.
// QKV_TEST_PYTHON names an interpreter with NumPy and safetensors.
inline constexpr int kNoNumpy = 77;
inline int run_check_written(const std::string& arguments) {
  const char* python = std::getenv("QKV_TEST_PYTHON");
  const std::string command = std::string(python != nullptr ? python : "python3") + " \"" +
                              QKV_IO_TEST_DIR + "/check_written.py\" " + arguments;
  const int result = std::system(command.c_str());
  if (!WIFEXITED(result)) return -1;
  return WEXITSTATUS(result) == 127 ? kNoNumpy : WEXITSTATUS(result);
}

// A clean failure: this code, one sentence that begins with the file and contains `part`.
inline void expect_error(const Status& status, StatusCode code, std::string_view part) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_THAT(status.message(), ::testing::HasSubstr(std::string(part)));
  EXPECT_EQ(status.message().find('\n'), std::string::npos);
  EXPECT_FALSE(status.message().ends_with('.'));
}

}  // namespace qkv::io

#endif  // QKV_TESTS_IO_IO_TEST_UTIL_H_
