// Writing .safetensors.
#ifndef QKV_SRC_IO_SAFETENSORS_WRITER_H_
#define QKV_SRC_IO_SAFETENSORS_WRITER_H_

#include <map>
#include <string>
#include <vector>

#include "io/atomic_file.h"
#include "qkv/io.h"
#include "qkv/status.h"

namespace qkv::io {

// The tensors in the order given, offsets contiguous, the header padded with spaces to a multiple
// of 8 bytes. Put the largest element types first if a reader is to use all of them in place: the
// format has no padding between tensors. Names and metadata are UTF-8.
Status write_safetensors(const std::vector<NamedTensor>& tensors,
                         const std::map<std::string, std::string>& metadata, AtomicFile& file);

}  // namespace qkv::io

#endif  // QKV_SRC_IO_SAFETENSORS_WRITER_H_
