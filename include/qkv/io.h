// Files of tensors: .npy, .npz and .safetensors, read and written.
//
// Reading maps the file, so a 20 GB input needs no 20 GB of memory; only arrays that are
// compressed, byte-swapped or misaligned in the file (as many members of numpy.savez archives are)
// are copied.
// Writing goes to a temporary file beside the target and renames it, so a failed or killed run
// leaves no half file and an old file untouched.
//
// Every failure is one sentence that names the file, what is wrong and what to do. Nothing here
// throws.
//
// Limits: a mapped file that another program shortens ends the process (SIGBUS) when the lost part
// is touched; replacing a file by rename, as write() does, is safe. A process killed while writing
// may leave ".qkv-<random>.tmp" beside the target. The checksum of an .npz member is checked only
// if the member is copied.
#ifndef QKV_IO_H_
#define QKV_IO_H_

#include <atomic>
#include <map>
#include <memory>
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
  std::string name;   // "" in an .npy file; without ".npy" in an .npz file
  std::string dtype;  // as the file spells it: "<f4", "BF16"
  std::vector<std::int64_t> shape;
};

// An open file. Holds the mapping as long as it or a tensor read from it lives. Several threads may
// call its const functions at once.
class Reader {
 public:
  Reader();
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  // kFileError if the file can't be read or lies about itself: truncated data or data left over,
  // offsets outside the file or that do not fit the shape, malformed headers, a name twice. The
  // whole header is checked, and no data is touched. On failure `reader` is unchanged.
  static Status open(const std::string& path, Reader& reader);

  // In the order of the file's header; members of an .npz file that are not arrays are left out.
  const std::vector<ArrayInfo>& arrays() const;
  // .safetensors "__metadata__"; empty elsewhere.
  const std::map<std::string, std::string>& metadata() const;
  // The array `name` ("" means the only one; "x.npy" is "x" in an .npz file). The tensor may be
  // read-only memory of the mapped file: never write to it. Its elements are aligned and in this
  // machine's byte order; a Fortran-ordered array keeps its order and has the strides for it.
  // kInvalidArgument, listing the names there are, if there is no such array; kUnsupported for an
  // element type that qkv has not (complex, strings, objects, float8) or a rank above 4;
  // kFileError if compressed data are damaged; kOutOfMemory if a copy does not fit.
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
  // Set to true from any thread to stop with kCancelled: checked every 8 MB.
  const std::atomic<bool>* cancel = nullptr;
  std::map<std::string, std::string> metadata{};  // .safetensors only
};

// Writes by the name's ending: .npy holds exactly one tensor (its name is not written), .npz and
// .safetensors one or more, in the order given, with different UTF-8 names. Always row-major,
// whatever the strides; booleans as 0 and 1. bfloat16 fits .safetensors only (else kUnsupported).
// The bytes written depend on the arguments alone (no dates), and an .npy file is NumPy's byte for
// byte.
//
// kInvalidArgument if nothing could be written in any place; kFileError if the place is the
// trouble: the file exists and `overwrite` is false, the directory is missing, the disk is full.
// After any failure the target is as it was. A symbolic link is followed and stays; a replaced
// file keeps its permissions, a new one gets those of the umask. The file is on the disk (fsync)
// when this returns.
Status write(const std::string& path, const std::vector<NamedTensor>& tensors,
             const WriteOptions& options = {});

}  // namespace qkv::io

#endif  // QKV_IO_H_
