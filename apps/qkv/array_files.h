// Arrays as the command line names them.
#ifndef QKV_APPS_QKV_ARRAY_FILES_H_
#define QKV_APPS_QKV_ARRAY_FILES_H_

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/io.h"
#include "qkv/tensor.h"

namespace qkv::app {

// The input file and whatever other files arrays come from, each opened once. Tensors are the
// mapped files themselves wherever the file's bytes allow it.
class ArrayFiles {
 public:
  // `input` may be "". Throws a Failure if it can't be opened.
  explicit ArrayFiles(const std::string& input);

  // `source` is the name of an array in the input, else a file, else "FILE:NAME". In a file with
  // several arrays the first of `defaults` that is there is taken; with `source` "" that is looked
  // for in the input. Throws a Failure that names `option`.
  Tensor find(const std::string& option, const std::string& source,
              std::span<const std::string_view> defaults = {});

  // All arrays of the file `source`, or the one array that it names otherwise.
  std::vector<Tensor> find_all(const std::string& option, const std::string& source);

  // Of all files that were opened.
  std::vector<std::string> paths() const;

 private:
  io::Reader& open(const std::string& option, const std::string& path);
  Tensor only_or_default(const std::string& option, const std::string& path,
                         std::span<const std::string_view> defaults);

  std::string input_;
  std::map<std::string, io::Reader> readers_;
};

// Whether all numbers are 0 or 1, and one is 1: a mask of another type than bool.
bool only_zeros_and_ones(const TensorView& view);

// A row-major copy of `tensor` in another type: float32 or float64, rounded to nearest.
Tensor converted(const Tensor& tensor, DType dtype);

// The whole numbers of a tensor of rank 0 or 1. Throws a Failure that names `option`.
std::vector<std::int64_t> integers_of(const std::string& option, const TensorView& view);
// Likewise, of floating-point numbers; float64 is rounded to float32.
std::vector<float> floats_of(const std::string& option, const TensorView& view);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_ARRAY_FILES_H_
