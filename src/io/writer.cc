// The public write(): checks everything first, then writes one atomic file.
#include <set>

#include "io/atomic_file.h"
#include "io/element_type.h"
#include "io/guard.h"
#include "io/layout.h"
#include "io/npy.h"
#include "io/npz_writer.h"
#include "io/row_major.h"
#include "io/safetensors_writer.h"
#include "io/text.h"
#include "qkv/io.h"

namespace qkv::io {
namespace {

Status check_tensor(const TensorView& view, Format format, const std::string& where) {
  if (!view.defined()) return invalid_argument(where + ": there is no tensor; give one");
  if (view.rank > kMaxRank) {
    return invalid_argument(where + ": has rank " + std::to_string(view.rank) +
                            ", but a tensor has at most 4 dimensions; reshape it");
  }
  std::uint64_t bytes = 0;
  if (!byte_count(shape_of(view), size_of(view.dtype) * 8, bytes)) {
    return invalid_argument(where + ": the shape " + shape_string(view) +
                            " has a negative extent or is over 2^62 bits; correct it");
  }
  if (view.data == nullptr && bytes > 0) {
    return invalid_argument(where + ": " + describe(view) + " has no data (a null pointer)");
  }
  if (format != Format::kSafetensors && npy_name(view.dtype).empty()) {
    return unsupported(where + ": is " + std::string(name_of(view.dtype)) +
                       ", which is not an .npy type; write .safetensors or convert it to float32");
  }
  return {};
}

Status check_name(const std::string& name, Format format, const std::string& where) {
  if (format == Format::kNpy) return {};  // not written
  if (name.empty()) return invalid_argument(where + ": has no name; give it one");
  if (!is_utf8(name)) return invalid_argument(where + ": the name is not UTF-8; choose another");
  if (format == Format::kSafetensors) {
    if (name != "__metadata__") return {};
    return invalid_argument(where + ": the format keeps this name for itself; choose another");
  }
  // A zip has 16 bits for the length, and many readers stop at a NUL.
  constexpr std::size_t kMaxName = 60000;
  if (name.find('\0') != std::string::npos || name.size() > kMaxName) {
    return invalid_argument(where + ": the name has a NUL or over 60000 bytes; choose another");
  }
  return {};
}

// An array is found by its name with and without ".npy", so "x" and "x.npy" would be the same.
std::string distinct_name(const std::string& name, Format format) {
  const bool npy = format == Format::kNpz && name.ends_with(".npy");
  return npy ? name.substr(0, name.size() - 4) : name;
}

Status check_all(const std::string& label, Format format, const std::vector<NamedTensor>& tensors,
                 const WriteOptions& options) {
  if (format == Format::kNpy && tensors.size() != 1) {
    return invalid_argument(label + ": an .npy file holds exactly one tensor, not " +
                            std::to_string(tensors.size()) + "; write .npz or .safetensors");
  }
  if (tensors.empty()) return invalid_argument(label + ": there is no tensor to write; give one");
  if (format != Format::kSafetensors && !options.metadata.empty()) {
    return invalid_argument(label + ": only .safetensors holds metadata; drop it or write that");
  }
  for (const auto& [key, value] : options.metadata) {
    if (is_utf8(key) && is_utf8(value)) continue;
    return invalid_argument(label + ": the metadata " + in_quotes(key) +
                            " is not UTF-8; encode it, for example as base64");
  }
  std::set<std::string> names;
  for (const NamedTensor& named : tensors) {
    const std::string where = label + ": tensor " + in_quotes(named.name);
    if (Status status = check_name(named.name, format, where); !status.ok()) return status;
    if (!names.insert(distinct_name(named.name, format)).second) {
      return invalid_argument(where + ": the name is given twice; choose another");
    }
    if (Status status = check_tensor(named.tensor, format, where); !status.ok()) return status;
  }
  return {};
}

Status write_content(Format format, const std::vector<NamedTensor>& tensors,
                     const WriteOptions& options, AtomicFile& file) {
  switch (format) {
    case Format::kNpy:
      return write_npy(tensors[0].tensor, file);
    case Format::kNpz:
      return write_npz(tensors, file);
    case Format::kSafetensors:
      return write_safetensors(tensors, options.metadata, file);
  }
  return invalid_argument(file.label() + ": unknown format; use a value of qkv::io::Format");
}

}  // namespace

Status write(const std::string& path, const std::vector<NamedTensor>& tensors,
             const WriteOptions& options) {
  return guarded(printable(path), [&]() -> Status {
    Format format{};
    if (Status status = format_of(path, format); !status.ok()) return status;
    Status status = check_all(printable(path), format, tensors, options);
    if (!status.ok()) return status;
    AtomicFile file;
    if (status = file.create(path, options.overwrite, options.cancel); !status.ok()) return status;
    if (status = write_content(format, tensors, options, file); !status.ok()) return status;
    return file.commit();
  });
}

}  // namespace qkv::io
