#include "io/npz_writer.h"

#include <string>

#include "io/npy_header.h"
#include "io/row_major.h"
#include "io/zip_writer.h"

namespace qkv::io {
namespace {

Status write_member(const NamedTensor& named, ZipWriter& zip) {
  const std::string header = format_npy_header(named.tensor.dtype, shape_of(named.tensor));
  const std::uint64_t data_bytes =
      static_cast<std::uint64_t>(named.tensor.size()) * size_of(named.tensor.dtype);
  const ChunkSink sink = [&zip](const void* data, std::size_t bytes) {
    return zip.write(data, bytes);
  };
  Status status = zip.begin(named.name + ".npy", header.size() + data_bytes);
  if (status.ok()) status = sink(header.data(), header.size());
  if (status.ok()) status = for_each_chunk(named.tensor, sink);
  return status.ok() ? zip.end() : status;
}

}  // namespace

Status write_npz(const std::vector<NamedTensor>& tensors, AtomicFile& file) {
  ZipWriter zip(file);
  for (const NamedTensor& named : tensors) {
    if (Status status = write_member(named, zip); !status.ok()) return status;
  }
  return zip.finish();
}

}  // namespace qkv::io
