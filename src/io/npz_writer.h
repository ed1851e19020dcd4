// Writing .npz.
#ifndef QKV_SRC_IO_NPZ_WRITER_H_
#define QKV_SRC_IO_NPZ_WRITER_H_

#include <vector>

#include "io/atomic_file.h"
#include "qkv/io.h"
#include "qkv/status.h"

namespace qkv::io {

// Stored members named "<name>.npy", dated 1980-01-01; each array's data begin at a multiple of 64
// bytes of the file, so that a reader can use them in place. Zip64 where 4 GiB are exceeded.
Status write_npz(const std::vector<NamedTensor>& tensors, AtomicFile& file);

}  // namespace qkv::io

#endif  // QKV_SRC_IO_NPZ_WRITER_H_
