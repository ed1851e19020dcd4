// Files of tensors: .npy, .npz and .safetensors, read and written.
//
// Reading maps the file, so a 20 GB input needs no 20 GB of memory; only compressed or byte-swapped
// arrays are copied. Writing goes to a temporary file beside the target and renames it, so a failed
// or killed run leaves no half file and an old file untouched.
#ifndef QKV_IO_H_
#define QKV_IO_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv::io {

enum class Format { kNpy, kNpz, kSafetensors };

// The format by the name's ending; kInvalidArgument names the three endings otherwise.
Status format_of(std::string_view path, Format& format);

// What a file says about one array, read without touching its data.
struct ArrayInfo {
  std::string name;   // "" in an .npy file
  std::string dtype;  // as the file spells it: "<f4", "BF16"
  std::vector<std::int64_t> shape;
};

// An open file. Holds the mapping as long as it or a tensor read from it lives.
class Reader {
 public:
  Reader();
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  // kFileError if the file can't be read or lies about itself: truncated data, offsets outside the
  // file or that do not fit the shape, malformed headers.
  static Status open(const std::string& path, Reader& reader);

  const std::vector<ArrayInfo>& arrays() const;  // in the file's order
  // .safetensors "__metadata__"; empty elsewhere.
  const std::map<std::string, std::string>& metadata() const;
  // The array `name` ("" means the only one). The tensor may be read-only memory of the mapped
  // file: never write to it. kInvalidArgument, listing the names there are, if there is no such
  // array; kUnsupported for an element type that qkv has not (complex, strings, objects, float8) or
  // a rank above 4.
  Status read(std::string_view name, Tensor& tensor) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct NamedTensor {
  std::string name;
  TensorView tensor;
};

struct WriteOptions {
  bool overwrite = false;  // else an existing file is refused
  std::map<std::string, std::string> metadata;  // .safetensors only
};

// Writes by the name's ending: .npy holds exactly one tensor, .npz and .safetensors one or more.
// bfloat16 fits .safetensors only. The bytes written depend on the arguments alone (no dates).
Status write(const std::string& path, const std::vector<NamedTensor>& tensors,
             const WriteOptions& options = {});

}  // namespace qkv::io

#endif  // QKV_IO_H_
