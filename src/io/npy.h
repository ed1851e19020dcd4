// What .npy files and the members of an .npz archive share.
#ifndef QKV_SRC_IO_NPY_H_
#define QKV_SRC_IO_NPY_H_

#include <cstdint>
#include <string>

#include "io/atomic_file.h"
#include "io/layout.h"
#include "io/npy_header.h"
#include "qkv/io.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv::io {

// The layout that `header` describes; kFileError unless the data take exactly `data_bytes`.
Status npy_layout(const NpyHeader& header, std::uint64_t data_bytes, const std::string& where,
                  Layout& layout);

Status write_npy(const TensorView& tensor, AtomicFile& file);

}  // namespace qkv::io

#endif  // QKV_SRC_IO_NPY_H_
