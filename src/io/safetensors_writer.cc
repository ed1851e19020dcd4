#include "io/safetensors_writer.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "io/element_type.h"
#include "io/row_major.h"
#include "io/safetensors_header.h"
#include "io/text.h"

namespace qkv::io {
namespace {

// `text` as a JSON string. writer.cc has checked that it is UTF-8, so dump() does not throw.
std::string json_string(const std::string& text) { return nlohmann::json(text).dump(); }

std::string metadata_text(const std::map<std::string, std::string>& metadata) {
  std::string text = "\"__metadata__\":{";
  for (const auto& [key, value] : metadata) {
    if (text.back() != '{') text += ',';
    text += json_string(key) + ':' + json_string(value);
  }
  return text + '}';
}

// The JSON as the reference implementation spells it: no spaces, keys in this order.
std::string tensor_text(const NamedTensor& named, std::uint64_t begin, std::uint64_t end) {
  std::string text = json_string(named.name) + ":{\"dtype\":\"";
  text += safetensors_name(named.tensor.dtype);
  text += "\",\"shape\":[";
  for (const std::int64_t extent : shape_of(named.tensor)) {
    if (text.back() != '[') text += ',';
    text += std::to_string(extent);
  }
  return text + "],\"data_offsets\":[" + std::to_string(begin) + ',' + std::to_string(end) + "]}";
}

std::string header_text(const std::vector<NamedTensor>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  if (!metadata.empty()) text += metadata_text(metadata);
  std::uint64_t offset = 0;
  for (const NamedTensor& named : tensors) {
    if (text.size() > 1) text += ',';
    const std::uint64_t end =
        offset + static_cast<std::uint64_t>(named.tensor.size()) * size_of(named.tensor.dtype);
    text += tensor_text(named, offset, end);
    offset = end;
  }
  text += '}';
  constexpr std::size_t kAlignment = 8;
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  return text;
}

}  // namespace

Status write_safetensors(const std::vector<NamedTensor>& tensors,
                         const std::map<std::string, std::string>& metadata, AtomicFile& file) {
  const std::string header = header_text(tensors, metadata);
  if (header.size() > kMaxSafetensorsHeader) {
    return invalid_argument(file.label() + ": the header would take " + bytes_text(header.size()) +
                            ", above the limit of " + std::to_string(kMaxSafetensorsHeader) +
                            "; write several files");
  }
  std::string start(8, '\0');
  for (std::size_t i = 0; i < start.size(); ++i) {
    start[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  }
  start += header;
  if (Status status = file.write(start.data(), start.size()); !status.ok()) return status;
  for (const NamedTensor& named : tensors) {
    Status status = for_each_chunk(named.tensor, [&file](const void* data, std::size_t bytes) {
      return file.write(data, bytes);
    });
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace qkv::io
