#include "array_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "command.h"
#include "elements.h"
#include "terminal.h"

namespace qkv::app {
namespace {

bool is_file_name(std::string_view text) {
  io::Format format{};
  return io::format_of(text, format).ok();
}

bool has_array(const io::Reader& reader, std::string_view name) {
  return std::ranges::any_of(reader.arrays(),
                             [&](const auto& array) { return array.name == name; });
}

std::string names_of(const io::Reader& reader) {
  constexpr std::size_t kMost = 12;
  std::string names;
  for (std::size_t i = 0; i < reader.arrays().size(); ++i) {
    if (i == kMost) return names + ", ...";
    names += (i == 0 ? "" : ", ") + reader.arrays()[i].name;
  }
  return names.empty() ? "none" : names;
}

Tensor read(const std::string& option, const io::Reader& reader, std::string_view name) {
  Tensor tensor;
  const Status status = reader.read(name, tensor);
  if (!status.ok()) throw Failure(exit_code_of(status.code()), option + ": " + status.message());
  return tensor;
}

void check_list(const std::string& option, const TensorView& view, bool right_type,
                const char* type) {
  if (view.rank <= 1 && right_type) return;
  throw usage(
      fmt::format("{}: the array is {}; it must be a list of {}", option, describe(view), type));
}

}  // namespace

ArrayFiles::ArrayFiles(const std::string& input) : input_(input) {
  if (!input_.empty()) open("INPUT", input_);
}

io::Reader& ArrayFiles::open(const std::string& option, const std::string& path) {
  const auto found = readers_.find(path);
  if (found != readers_.end()) return found->second;
  io::Reader reader;
  const Status status = io::Reader::open(path, reader);
  if (!status.ok()) throw Failure(exit_code_of(status.code()), option + ": " + status.message());
  return readers_.emplace(path, std::move(reader)).first->second;
}

std::vector<std::string> ArrayFiles::paths() const {
  std::vector<std::string> paths;
  paths.reserve(readers_.size());
  for (const auto& [path, reader] : readers_) paths.push_back(path);
  return paths;
}

Tensor ArrayFiles::only_or_default(const std::string& option, const std::string& path,
                                   std::span<const std::string_view> defaults) {
  const io::Reader& reader = open(option, path);
  for (std::string_view name : defaults) {
    if (has_array(reader, name)) return read(option, reader, name);
  }
  // One array of a file that holds q, k and v can't be told by its being alone.
  if (reader.arrays().size() == 1 && path != input_) return read(option, reader, "");
  if (reader.arrays().size() == 1 && reader.arrays()[0].name.empty()) {
    throw usage(
        fmt::format("{}: {} holds one nameless array; name a file for each of --q, --k and "
                    "--v, and no INPUT",
                    option, in_quotes(path)));
  }
  throw usage(fmt::format("{}: {} has the arrays {}; choose one with {} {}", option,
                          in_quotes(path), names_of(reader), option,
                          path == input_ ? "NAME" : "FILE:NAME"));
}

Tensor ArrayFiles::find(const std::string& option, const std::string& source,
                        std::span<const std::string_view> defaults) {
  if (source.empty()) return only_or_default(option, input_, defaults);
  if (!input_.empty()) {
    const io::Reader& input = open(option, input_);
    if (has_array(input, source)) return read(option, input, source);
  }
  if (is_file_name(source)) return only_or_default(option, source, defaults);
  for (std::size_t colon = source.find(':'); colon != std::string::npos;
       colon = source.find(':', colon + 1)) {
    const std::string path = source.substr(0, colon);
    if (is_file_name(path)) return read(option, open(option, path), source.substr(colon + 1));
  }
  if (input_.empty()) {
    throw usage(
        fmt::format("{}: {} is not the name of a .npy, .npz or .safetensors file, and there "
                    "is no INPUT to have an array of this name",
                    option, in_quotes(source)));
  }
  throw usage(fmt::format("{}: no array {} in {}, which has {}", option, in_quotes(source),
                          in_quotes(input_), names_of(open(option, input_))));
}

std::vector<Tensor> ArrayFiles::find_all(const std::string& option, const std::string& source) {
  const bool in_input = !input_.empty() && has_array(open(option, input_), source);
  if (in_input || !is_file_name(source)) return {find(option, source)};
  const io::Reader& reader = open(option, source);
  std::vector<Tensor> tensors;
  for (const io::ArrayInfo& array : reader.arrays()) {
    tensors.push_back(read(option, reader, array.name));
  }
  return tensors;
}

Tensor converted(const Tensor& tensor, DType dtype) {
  const TensorView from = tensor;
  Tensor to;
  check(allocate(dtype, std::span(from.extents).first(static_cast<std::size_t>(from.rank)), to));
  with_element(from.dtype, [&](auto element) {
    const auto* source = static_cast<const decltype(element)*>(from.data);
    const std::int64_t size = from.size();
    Walk walk(from);
    for (std::int64_t i = 0; i < size; ++i, walk.next()) {
      if (dtype == DType::kFloat64) {
        to.data<double>()[i] = value_as<double>(source[walk.offset()]);
      } else {
        to.data<float>()[i] = value_as<float>(source[walk.offset()]);
      }
    }
  });
  return to;
}

bool only_zeros_and_ones(const TensorView& view) {
  return with_element(view.dtype, [&](auto element) {
    const auto* source = static_cast<const decltype(element)*>(view.data);
    const std::int64_t size = view.size();
    bool one = false;
    Walk walk(view);
    for (std::int64_t i = 0; i < size; ++i, walk.next()) {
      const auto number = value_as<float>(source[walk.offset()]);
      if (number != 0 && number != 1) return false;
      one = one || number == 1;
    }
    return one;
  });
}

std::vector<std::int64_t> integers_of(const std::string& option, const TensorView& view) {
  check_list(option, view, !is_floating(view.dtype) && view.dtype != DType::kBool,
             "whole numbers, such as int64");
  std::vector<std::int64_t> numbers;
  with_element(view.dtype, [&](auto element) {
    using Element = decltype(element);
    const auto* source = static_cast<const Element*>(view.data);
    const std::int64_t size = view.size();
    Walk walk(view);
    for (std::int64_t i = 0; i < size; ++i, walk.next()) {
      if constexpr (std::is_same_v<Element, std::uint64_t>) {
        if (source[walk.offset()] >
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
          throw usage(option + ": a number of the array is beyond int64");
        }
      }
      numbers.push_back(value_as<std::int64_t>(source[walk.offset()]));
    }
  });
  return numbers;
}

std::vector<float> floats_of(const std::string& option, const TensorView& view) {
  check_list(option, view, is_floating(view.dtype), "floating-point numbers, such as float32");
  std::vector<float> numbers;
  with_element(view.dtype, [&](auto element) {
    const auto* source = static_cast<const decltype(element)*>(view.data);
    const std::int64_t size = view.size();
    Walk walk(view);
    for (std::int64_t i = 0; i < size; ++i, walk.next()) {
      numbers.push_back(value_as<float>(source[walk.offset()]));
    }
  });
  return numbers;
}

}  // namespace qkv::app
