// Reading .safetensors: 8 bytes of header length, a JSON header, the data.
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "io/array_file.h"
#include "io/layout.h"
#include "io/safetensors_header.h"
#include "io/text.h"

namespace qkv::io {
namespace {

constexpr std::uint64_t kLengthBytes = 8;

class SafetensorsFile : public ArrayFile {
 public:
  explicit SafetensorsFile(const MappedFile& file) : ArrayFile(file) {}

  Status parse();

 protected:
  Status read_index(std::size_t index, Tensor& tensor) const override {
    const Layout& layout = layouts_[index];
    const std::string label = where(arrays_[index].name);
    if (Status status = check_readable(layout, label); !status.ok()) return status;
    return tensor_at(layout, file_, offsets_[index], label, tensor);
  }

 private:
  Status header_length(std::uint64_t& length) const;

  std::vector<Layout> layouts_;         // as arrays_
  std::vector<std::uint64_t> offsets_;  // of the data, from the start of the file
};

Status SafetensorsFile::header_length(std::uint64_t& length) const {
  const auto bytes = file_.bytes();
  const std::string& label = file_.label();
  if (bytes.size() < kLengthBytes) {
    return file_error(label + ": has " + bytes_text(bytes.size()) +
                      ", less than the 8 that say how long the header is; it is truncated, so "
                      "write it again");
  }
  length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8 | static_cast<std::uint64_t>(bytes[i]);
  }
  if (length > bytes.size() - kLengthBytes) {
    return file_error(label + ": says its header has " + bytes_text(length) + ", but only " +
                      std::to_string(bytes.size() - kLengthBytes) +
                      " follow; it is truncated or no .safetensors file, so write it again");
  }
  if (length > kMaxSafetensorsHeader) {
    return file_error(label + ": has a header of " + bytes_text(length) + ", above the limit of " +
                      std::to_string(kMaxSafetensorsHeader) + "; split the file");
  }
  return {};
}

Status SafetensorsFile::parse() {
  std::uint64_t length = 0;
  if (Status status = header_length(length); !status.ok()) return status;
  const auto text = file_.bytes().subspan(kLengthBytes, length);
  SafetensorsHeader header;
  Status status = parse_safetensors_header(
      {reinterpret_cast<const char*>(text.data()), text.size()}, file_.label(), header);
  if (!status.ok()) return status;
  const std::uint64_t data = kLengthBytes + length;
  status = check_safetensors_layout(header.entries, file_.size() - data, file_.label());
  if (!status.ok()) return status;
  metadata_ = std::move(header.metadata);
  for (SafetensorsEntry& entry : header.entries) {
    layouts_.push_back({entry.shape, safetensors_element_type(entry.dtype), false});
    offsets_.push_back(data + entry.begin);
    arrays_.push_back({std::move(entry.name), std::move(entry.dtype), std::move(entry.shape)});
  }
  return {};
}

}  // namespace

Status open_safetensors(const MappedFile& file, std::unique_ptr<ArrayFile>& result) {
  auto safetensors = std::make_unique<SafetensorsFile>(file);
  if (Status status = safetensors->parse(); !status.ok()) return status;
  result = std::move(safetensors);
  return {};
}

}  // namespace qkv::io
