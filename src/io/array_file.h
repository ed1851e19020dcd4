// What the three readers have in common: an opened file whose header has been checked.
#ifndef QKV_SRC_IO_ARRAY_FILE_H_
#define QKV_SRC_IO_ARRAY_FILE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/mapped_file.h"
#include "qkv/io.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv::io {

// Reading is const and keeps no state, so several threads may read from one file.
class ArrayFile {
 public:
  virtual ~ArrayFile() = default;

  const std::vector<ArrayInfo>& arrays() const { return arrays_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // The array `name`, "" meaning the only one.
  Status read(std::string_view name, Tensor& tensor) const;

 protected:
  explicit ArrayFile(MappedFile file) : file_(std::move(file)) {}

  virtual Status read_index(std::size_t index, Tensor& tensor) const = 0;
  // Whether `name` is another name of the array `index`.
  virtual bool is_alias(std::size_t index, std::string_view name) const;
  // The start of a message about the array `name`: `file.npz: array "x"`.
  std::string where(std::string_view name) const;

  MappedFile file_;
  std::vector<ArrayInfo> arrays_;
  std::map<std::string, std::string> metadata_;
};

Status open_npy(const MappedFile& file, std::unique_ptr<ArrayFile>& result);
Status open_npz(const MappedFile& file, std::unique_ptr<ArrayFile>& result);
Status open_safetensors(const MappedFile& file, std::unique_ptr<ArrayFile>& result);
Status open_arrays(const MappedFile& file, Format format, std::unique_ptr<ArrayFile>& result);

}  // namespace qkv::io

#endif  // QKV_SRC_IO_ARRAY_FILE_H_
