// The public Reader: a format's reader behind one face.
#include <memory>
#include <utility>

#include "io/array_file.h"
#include "io/guard.h"
#include "io/mapped_file.h"
#include "io/text.h"
#include "qkv/io.h"

namespace qkv::io {

struct Reader::Impl {
  std::string label;
  std::unique_ptr<ArrayFile> file;
};

Reader::Reader() = default;
Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

Status Reader::open(const std::string& path, Reader& reader) {
  return guarded(printable(path), [&]() -> Status {
    Format format{};
    if (Status status = format_of(path, format); !status.ok()) return status;
    MappedFile mapped;
    if (Status status = MappedFile::open(path, mapped); !status.ok()) return status;
    auto impl = std::make_unique<Impl>();
    impl->label = mapped.label();
    Status status = open_arrays(mapped, format, impl->file);
    if (status.ok()) reader.impl_ = std::move(impl);
    return status;
  });
}

const std::vector<ArrayInfo>& Reader::arrays() const {
  static const std::vector<ArrayInfo> kNone;
  return impl_ ? impl_->file->arrays() : kNone;
}

const std::map<std::string, std::string>& Reader::metadata() const {
  static const std::map<std::string, std::string> kNone;
  return impl_ ? impl_->file->metadata() : kNone;
}

Status Reader::read(std::string_view name, Tensor& tensor) const {
  if (!impl_) return invalid_argument("reader: no file is open; call Reader::open first");
  return guarded(impl_->label, [&] { return impl_->file->read(name, tensor); });
}

}  // namespace qkv::io
