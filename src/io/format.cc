// Which format a name's ending means.
#include <algorithm>
#include <string>

#include "io/text.h"
#include "qkv/io.h"

namespace qkv::io {

Status format_of(std::string_view path, Format& format) {
  struct Ending {
    std::string_view text;
    Format format;
  };
  constexpr Ending kEndings[] = {
      {".npy", Format::kNpy}, {".npz", Format::kNpz}, {".safetensors", Format::kSafetensors}};
  std::string lower(path);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const Ending& ending : kEndings) {
    if (!lower.ends_with(ending.text)) continue;
    format = ending.format;
    return {};
  }
  return invalid_argument(in_quotes(path) +
                          ": the name tells no format; end it with .npy, .npz or .safetensors");
}

}  // namespace qkv::io
