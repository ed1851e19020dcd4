// Opens bytes as a file and reads every array in it.
#ifndef QKV_TESTS_FUZZ_READER_FUZZER_H_
#define QKV_TESTS_FUZZ_READER_FUZZER_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "io/array_file.h"
#include "io/mapped_file.h"
#include "qkv/tensor.h"

namespace qkv::io {

// A failure has a message and a success a tensor, whose bytes must all be readable. Deflated data
// are at most 1032 times the input, so memory stays small.
inline void check_array(const ArrayFile& file, const ArrayInfo& info) {
  Tensor tensor;
  const Status status = file.read(info.name, tensor);
  if (status.ok() != tensor.defined() || status.ok() != status.message().empty()) std::abort();
  if (!status.ok()) return;
  if (reinterpret_cast<std::uintptr_t>(tensor.view().data) % size_of(tensor.dtype()) != 0) {
    std::abort();
  }
  const std::size_t bytes = static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype());
  const auto* data = tensor.data<unsigned char>();
  unsigned sum = 0;
  for (std::size_t i = 0; i < bytes; ++i) sum += data[i];
  volatile unsigned sink = sum;
  (void)sink;
}

inline void read_bytes(const std::uint8_t* data, std::size_t size, Format format) {
  const MappedFile mapped = MappedFile::from_memory("fuzz", std::as_bytes(std::span(data, size)));
  std::unique_ptr<ArrayFile> file;
  const Status status = open_arrays(mapped, format, file);
  if (status.ok() != (file != nullptr) || status.ok() != status.message().empty()) std::abort();
  if (!status.ok()) return;
  for (const ArrayInfo& info : file->arrays()) check_array(*file, info);
}

}  // namespace qkv::io

#endif  // QKV_TESTS_FUZZ_READER_FUZZER_H_
