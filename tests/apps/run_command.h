// Runs the built command, and makes and reads the files it works on.
#ifndef QKV_TESTS_APPS_RUN_COMMAND_H_
#define QKV_TESTS_APPS_RUN_COMMAND_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/io.h"
#include "qkv/tensor.h"

namespace qkv::app {

using Arguments = std::vector<std::string>;

// A new directory, the working directory of the commands, removed at the end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }
  std::vector<std::string> names() const;  // of the files, sorted

 private:
  std::filesystem::path path_;
};

struct Result {
  int code = -1;  // 128 + signal if one ended it
  std::string out, err;
};

// A running command.
class Process {
 public:
  // `environment` has entries "NAME=value" to add.
  Process(const Scratch& scratch, const Arguments& arguments, const Arguments& environment = {},
          std::string_view program = QKV_COMMAND);
  ~Process();
  pid_t pid() const { return pid_; }
  // What it has printed so far.
  std::string out() const;
  // Waits until it has printed `text`; false if it ended or a minute passed.
  bool wait_for(std::string_view text) const;
  Result wait();

 private:
  std::string out_path_, err_path_;
  pid_t pid_ = -1;
};

Result run(const Scratch& scratch, const Arguments& arguments, const Arguments& environment = {});

// The command fails with this exit code and one sentence that has all these parts.
void expect_failure(const Result& result, int code, std::initializer_list<std::string_view> parts);
void expect_success(const Result& result);
nlohmann::json parsed(const std::string& text);

std::string read_text(const std::string& path);

// An owning tensor of these elements.
template <class T>
Tensor tensor(std::initializer_list<std::int64_t> shape, const std::vector<T>& elements) {
  Tensor result;
  EXPECT_TRUE(
      allocate(internal::dtype_of<T>(), std::span(shape.begin(), shape.size()), result).ok());
  EXPECT_EQ(result.size(), static_cast<std::int64_t>(elements.size()));
  std::copy(elements.begin(), elements.end(), result.data<T>());
  return result;
}

struct Named {
  std::string name;
  Tensor tensor;
};
void write_arrays(const std::string& path, const std::vector<Named>& arrays);
Tensor read_array(const std::string& path, std::string_view name = "");

template <class T>
std::vector<T> elements(const Tensor& array) {
  EXPECT_EQ(array.dtype(), internal::dtype_of<T>());
  return std::vector<T>(array.data<T>(), array.data<T>() + array.size());
}

// The lesson's example: one query, three keys and values.
inline Tensor lesson_query() { return tensor<float>({1, 2}, {1, 2}); }
inline Tensor lesson_key() { return tensor<float>({3, 2}, {1, 0, 0, 1, 1, 1}); }
inline Tensor lesson_value() { return tensor<float>({3, 2}, {10, 0, 0, 10, 5, 5}); }
// lesson.npz with q, k and v.
void write_lesson(const Scratch& scratch);

}  // namespace qkv::app

#endif  // QKV_TESTS_APPS_RUN_COMMAND_H_
