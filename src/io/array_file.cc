#include "io/array_file.h"

#include "io/text.h"

namespace qkv::io {
namespace {

// `"q", "k", "v"`, cut after 20 names.
std::string names_text(const std::vector<ArrayInfo>& arrays) {
  constexpr std::size_t kShown = 20;
  std::string text;
  for (std::size_t i = 0; i < arrays.size() && i < kShown; ++i) {
    if (i > 0) text += ", ";
    text += in_quotes(arrays[i].name);
  }
  if (arrays.size() > kShown) {
    text += " and " + std::to_string(arrays.size() - kShown) + " more";
  }
  return text;
}

}  // namespace

bool ArrayFile::is_alias(std::size_t, std::string_view) const { return false; }

std::string ArrayFile::where(std::string_view name) const {
  return file_.label() + ": array " + in_quotes(name);
}

Status ArrayFile::read(std::string_view name, Tensor& tensor) const {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (arrays_[i].name == name) return read_index(i, tensor);
  }
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (is_alias(i, name)) return read_index(i, tensor);
  }
  const std::string& label = file_.label();
  if (arrays_.empty()) return invalid_argument(label + ": holds no arrays; choose another file");
  if (!name.empty() && arrays_.size() == 1 && arrays_[0].name.empty()) {
    return invalid_argument(label + ": has no array " + in_quotes(name) +
                            ", but a single one without a name; leave the name out");
  }
  if (!name.empty()) {
    return invalid_argument(label + ": has no array " + in_quotes(name) + "; it holds " +
                            names_text(arrays_));
  }
  if (arrays_.size() == 1) return read_index(0, tensor);
  return invalid_argument(label + ": holds " + std::to_string(arrays_.size()) +
                          " arrays; name one of " + names_text(arrays_));
}

Status open_arrays(const MappedFile& file, Format format, std::unique_ptr<ArrayFile>& result) {
  switch (format) {
    case Format::kNpy:
      return open_npy(file, result);
    case Format::kNpz:
      return open_npz(file, result);
    case Format::kSafetensors:
      return open_safetensors(file, result);
  }
  return invalid_argument(file.label() + ": unknown format; use a value of qkv::io::Format");
}

}  // namespace qkv::io
