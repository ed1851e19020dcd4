// The header of the .safetensors format: https://huggingface.co/docs/safetensors
#ifndef QKV_SRC_IO_SAFETENSORS_HEADER_H_
#define QKV_SRC_IO_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/status.h"

namespace qkv::io {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // of the data, from the end of the header
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the header's order
  std::map<std::string, std::string> metadata;
};

// The limit of the reference implementation.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

// Parses the JSON text of a header. As the format's description and its reference implementation:
// the first byte is '{', padding is spaces (NUL padding is refused), numbers are whole. Stricter
// than the reference: keys twice and keys that the format has not are refused, because a reader
// that skips them would read other tensors than the writer meant. `where` begins every message.
Status parse_safetensors_header(std::string_view text, const std::string& where,
                                SafetensorsHeader& header);

// kFileError unless every entry's bytes fit its shape and all of them together cover [0,
// data_bytes) without overlap or hole.
Status check_safetensors_layout(const std::vector<SafetensorsEntry>& entries,
                                std::uint64_t data_bytes, const std::string& where);

}  // namespace qkv::io

#endif  // QKV_SRC_IO_SAFETENSORS_HEADER_H_
