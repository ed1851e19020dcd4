#include "io/npy.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "io/array_file.h"
#include "io/row_major.h"
#include "io/text.h"

namespace qkv::io {
namespace {

class NpyFile : public ArrayFile {
 public:
  explicit NpyFile(const MappedFile& file) : ArrayFile(file) {}

  Status parse() {
    const std::string& label = file_.label();
    const auto bytes = file_.bytes();
    const auto start = bytes.first(std::min<std::size_t>(bytes.size(), kNpyPreamble));
    if (Status status = npy_header_size(start, label, offset_); !status.ok()) return status;
    if (offset_ > bytes.size()) {
      return file_error(label + ": has " + bytes_text(bytes.size()) +
                        " but its .npy header alone takes " + bytes_text(offset_) +
                        "; it is truncated, so write it again");
    }
    NpyHeader header;
    Status status = parse_npy_header(bytes.first(offset_), label, header);
    if (!status.ok()) return status;
    status = npy_layout(header, bytes.size() - offset_, label, layout_);
    if (!status.ok()) return status;
    arrays_.push_back({"", std::move(header.descr), std::move(header.shape)});
    return {};
  }

 protected:
  Status read_index(std::size_t, Tensor& tensor) const override {
    if (Status status = check_readable(layout_, file_.label()); !status.ok()) return status;
    return tensor_at(layout_, file_, offset_, file_.label(), tensor);
  }

 private:
  std::uint64_t offset_ = 0;  // of the data
  Layout layout_;
};

}  // namespace

Status npy_layout(const NpyHeader& header, std::uint64_t data_bytes, const std::string& where,
                  Layout& layout) {
  layout.shape = header.shape;
  layout.type = npy_element_type(header.descr);
  layout.fortran_order = header.fortran_order;
  // 0 bits: pickled objects and structures, whose size the header does not tell.
  if (layout.type.bits == 0) return {};
  const std::string described = in_quotes(header.descr) + " " + shape_text(header.shape);
  std::uint64_t needed = 0;
  if (!byte_count(header.shape, layout.type.bits, needed)) {
    return file_error(where + ": claims the shape " + described +
                      ", whose size overflows; it is damaged, so write it again");
  }
  if (needed != data_bytes) {
    return file_error(where + ": an array " + described + " takes " + bytes_text(needed) +
                      ", but " + bytes_text(data_bytes) + " follow the header; it is " +
                      (needed > data_bytes ? "truncated" : "damaged") + ", so write it again");
  }
  return {};
}

Status open_npy(const MappedFile& file, std::unique_ptr<ArrayFile>& result) {
  auto npy = std::make_unique<NpyFile>(file);
  if (Status status = npy->parse(); !status.ok()) return status;
  result = std::move(npy);
  return {};
}

Status write_npy(const TensorView& tensor, AtomicFile& file) {
  const std::string header = format_npy_header(tensor.dtype, shape_of(tensor));
  if (Status status = file.write(header.data(), header.size()); !status.ok()) return status;
  return for_each_chunk(
      tensor, [&file](const void* data, std::size_t bytes) { return file.write(data, bytes); });
}

}  // namespace qkv::io
