#include "io/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "io/element_type.h"
#include "io/layout.h"
#include "io/text.h"

namespace qkv::io {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kRewrite = "; it is damaged, so write the file again";

// Takes the parser's events instead of building a tree, so that duplicate keys are seen, the order
// is kept, and a hostile header costs no more memory than its text. Every event that the format
// does not allow at its place ends the parse.
class HeaderHandler : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderHandler(SafetensorsHeader& header) : header_(header) {}
  const std::string& error() const { return error_; }

  bool null() override {
    // The reference implementation takes "__metadata__": null for no metadata.
    if (place_ == Place::kFile && key_ == kMetadata) return true;
    return misplaced("null");
  }
  bool boolean(bool) override { return misplaced("a boolean"); }
  bool number_integer(number_integer_t) override { return misplaced("a negative number"); }
  bool number_float(number_float_t, const string_t& text) override {
    return misplaced("the number " + in_quotes(text) + ", which is not whole or above 2^64 - 1,");
  }
  bool binary(binary_t&) override { return misplaced("binary data"); }
  bool number_unsigned(number_unsigned_t value) override;
  bool string(string_t& value) override;
  bool start_object(std::size_t) override;
  bool key(string_t& value) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    return fail("is not JSON from byte " + std::to_string(position) + " on");
  }

 private:
  static constexpr std::string_view kMetadata = "__metadata__";
  enum class Place { kStart, kFile, kMetadata, kTensor, kShape, kOffsets, kDone };

  bool fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
    return false;
  }
  bool misplaced(const std::string& what) {
    if (place_ == Place::kStart || place_ == Place::kDone) return fail("is not a JSON object");
    std::string owner = place_ == Place::kFile || place_ == Place::kMetadata
                            ? in_quotes(key_)
                            : in_quotes(field_) + " of tensor " + in_quotes(key_);
    return fail("has " + what + " where " + owner + " stands");
  }

  SafetensorsHeader& header_;
  Place place_ = Place::kStart;
  std::string key_;    // of the file's object, or of the metadata
  std::string field_;  // of a tensor's object
  std::set<std::string> names_;
  SafetensorsEntry entry_;
  std::vector<std::uint64_t> offsets_;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
  std::string error_;
};

bool HeaderHandler::number_unsigned(number_unsigned_t value) {
  if (place_ == Place::kShape) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value > kMax) return misplaced("an extent above 2^63 - 1");
    entry_.shape.push_back(static_cast<std::int64_t>(value));
    return true;
  }
  if (place_ == Place::kOffsets) {
    offsets_.push_back(value);
    return offsets_.size() <= 2 || misplaced("more than two numbers");
  }
  return misplaced("a number");
}

bool HeaderHandler::string(string_t& value) {
  if (place_ == Place::kMetadata) {
    header_.metadata[key_] = std::move(value);
    return true;
  }
  if (place_ == Place::kTensor && field_ == "dtype") {
    entry_.dtype = std::move(value);
    has_dtype_ = true;
    return true;
  }
  return misplaced("a string");
}

bool HeaderHandler::start_object(std::size_t) {
  if (place_ == Place::kStart) {
    place_ = Place::kFile;
    return true;
  }
  if (place_ != Place::kFile) return misplaced("an object");
  if (key_ == kMetadata) {
    place_ = Place::kMetadata;
    return true;
  }
  place_ = Place::kTensor;
  entry_ = {};
  entry_.name = key_;
  offsets_.clear();
  has_dtype_ = has_shape_ = has_offsets_ = false;
  return true;
}

bool HeaderHandler::key(string_t& value) {
  if (place_ == Place::kTensor) {
    const bool known = value == "dtype" || value == "shape" || value == "data_offsets";
    if (!known)
      return fail("has the unknown key " + in_quotes(value) + " in tensor " + in_quotes(key_));
    field_ = std::move(value);
    const bool twice = (field_ == "dtype" && has_dtype_) || (field_ == "shape" && has_shape_) ||
                       (field_ == "data_offsets" && has_offsets_);
    if (twice) return fail("has " + in_quotes(field_) + " twice in tensor " + in_quotes(key_));
    return true;
  }
  key_ = std::move(value);
  if (place_ == Place::kMetadata) {
    return header_.metadata.count(key_) == 0 ||
           fail("has the key " + in_quotes(key_) + " twice in \"__metadata__\"");
  }
  return names_.insert(key_).second || fail("has the name " + in_quotes(key_) + " twice");
}

bool HeaderHandler::end_object() {
  if (place_ == Place::kFile) {
    place_ = Place::kDone;
    return true;
  }
  if (place_ == Place::kTensor) {
    const char* missing = !has_dtype_     ? "\"dtype\""
                          : !has_shape_   ? "\"shape\""
                          : !has_offsets_ ? "\"data_offsets\""
                                          : nullptr;
    if (missing != nullptr) return fail("lacks " + std::string(missing) + " of " + in_quotes(key_));
    header_.entries.push_back(std::move(entry_));
  }
  place_ = Place::kFile;
  return true;
}

bool HeaderHandler::start_array(std::size_t) {
  if (place_ != Place::kTensor || field_ == "dtype") return misplaced("an array");
  place_ = field_ == "shape" ? Place::kShape : Place::kOffsets;
  return true;
}

bool HeaderHandler::end_array() {
  if (place_ == Place::kShape) {
    has_shape_ = true;
  } else {
    if (offsets_.size() != 2) return misplaced("fewer than two numbers");
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    has_offsets_ = true;
  }
  place_ = Place::kTensor;
  return true;
}

std::string range_text(const SafetensorsEntry& entry) {
  std::string text = "[";
  text += std::to_string(entry.begin);
  text += ", ";
  text += std::to_string(entry.end);
  return text + "]";
}

Status check_size(const SafetensorsEntry& entry, const std::string& where) {
  const std::string described = "tensor " + in_quotes(entry.name) + ", " + printable(entry.dtype) +
                                " " + shape_text(entry.shape);
  const ElementType type = safetensors_element_type(entry.dtype);
  // A type of unknown size counts as one bit, to check the extents at least.
  std::uint64_t needed = 0;
  if (!byte_count(entry.shape, std::max<std::uint64_t>(type.bits, 1), needed)) {
    return file_error(where + ": the size of " + described + " overflows" + std::string(kRewrite));
  }
  if (type.bits != 0 && needed != entry.end - entry.begin) {
    return file_error(where + ": " + described + ", takes " + bytes_text(needed) +
                      " but its data_offsets " + range_text(entry) + " span " +
                      std::to_string(entry.end - entry.begin) + std::string(kRewrite));
  }
  return {};
}

}  // namespace

Status parse_safetensors_header(std::string_view text, const std::string& where,
                                SafetensorsHeader& header) {
  // Checked first because the JSON parser would skip spaces and a byte order mark.
  if (!text.starts_with('{')) {
    return file_error(where + ": the header does not begin with '{'" + std::string(kRewrite));
  }
  // The JSON parser would take a NUL for the end of the text and skip what follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return file_error(where + ": the header has a NUL byte at " + std::to_string(nul) +
                      ", which the format does not allow, not even as padding; write the file "
                      "again, padded with spaces");
  }
  HeaderHandler handler(header);
  if (Json::sax_parse(text.begin(), text.end(), &handler)) return {};
  return file_error(where + ": the header " + handler.error() + std::string(kRewrite));
}

Status check_safetensors_layout(const std::vector<SafetensorsEntry>& entries,
                                std::uint64_t data_bytes, const std::string& where) {
  std::vector<const SafetensorsEntry*> sorted;
  sorted.reserve(entries.size());
  for (const SafetensorsEntry& entry : entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::uint64_t covered = 0;
  for (const SafetensorsEntry* entry : sorted) {
    const std::string range =
        "the data_offsets " + range_text(*entry) + " of tensor " + in_quotes(entry->name);
    if (entry->end < entry->begin || entry->end > data_bytes) {
      return file_error(where + ": " + range + " are not inside the " + bytes_text(data_bytes) +
                        " of data; the file is truncated or damaged, so write it again");
    }
    if (Status status = check_size(*entry, where); !status.ok()) return status;
    if (entry->begin != covered) {
      return file_error(where + ": " + range +
                        (entry->begin < covered ? " overlap" : " leave a hole before") +
                        " the data that end at " + std::to_string(covered) + std::string(kRewrite));
    }
    covered = entry->end;
  }
  if (covered == data_bytes) return {};
  return file_error(where + ": the tensors cover " + bytes_text(covered) + " but " +
                    std::to_string(data_bytes) + " follow the header" + std::string(kRewrite));
}

}  // namespace qkv::io
