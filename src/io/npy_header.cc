#include "io/npy_header.h"

#include <limits>
#include <utility>

#include "io/element_type.h"
#include "io/text.h"

namespace qkv::io {
namespace {

constexpr std::string_view kRewrite = "; it is damaged, so write the file again";

unsigned byte_at(std::span<const std::byte> bytes, std::size_t i) {
  return static_cast<unsigned>(bytes[i]);
}

// Reads one Python literal from left to right. Every function returns false and sets `error` on
// the first thing that is not as NumPy writes it.
class LiteralParser {
 public:
  explicit LiteralParser(std::string_view text) : text_(text) {}

  bool header(NpyHeader& result);
  const std::string& error() const { return error_; }

 private:
  bool fail(std::string what) {
    error_ = std::move(what) + " at byte " + std::to_string(pos_) + " of the header's text";
    return false;
  }
  bool at_end() const { return pos_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[pos_]; }
  void skip_spaces() {
    while (!at_end() && (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r')) {
      ++pos_;
    }
  }
  // The next thing is `c`, after spaces.
  bool accept(char c) {
    skip_spaces();
    if (at_end() || peek() != c) return false;
    ++pos_;
    return true;
  }
  bool entry(NpyHeader& result, unsigned& seen);
  bool string(std::string& value);
  bool boolean(bool& value);
  bool extent(std::int64_t& value);
  bool shape(std::vector<std::int64_t>& value);
  bool descr(std::string& value);
  bool finish();

  std::string_view text_;
  std::size_t pos_ = 0;
  std::string error_;
};

bool LiteralParser::header(NpyHeader& result) {
  unsigned seen = 0;  // one bit for each of the three keys
  if (!accept('{')) return fail("no '{'");
  while (!accept('}')) {
    if (!entry(result, seen)) return false;
    if (accept('}')) break;
    if (!accept(',')) return fail("neither ',' nor '}'");
  }
  if (seen != 7) return fail("one of the keys 'descr', 'fortran_order' and 'shape' is missing");
  return finish();
}

bool LiteralParser::entry(NpyHeader& result, unsigned& seen) {
  std::string key;
  if (!string(key)) return false;
  if (!accept(':')) return fail("no ':' after a key");
  const unsigned bit = key == "descr" ? 1u : key == "fortran_order" ? 2u : key == "shape" ? 4u : 0u;
  if (bit == 0) return fail("unknown key " + in_quotes(key));
  if ((seen & bit) != 0) return fail("key " + in_quotes(key) + " twice");
  seen |= bit;
  if (bit == 1) return descr(result.descr);
  if (bit == 2) return boolean(result.fortran_order);
  return shape(result.shape);
}

bool LiteralParser::string(std::string& value) {
  skip_spaces();
  const char quote = peek();
  if (quote != '\'' && quote != '"') return fail("no string");
  const std::size_t begin = ++pos_;
  while (!at_end() && peek() != quote) {
    if (peek() == '\\' || peek() == '\n' || peek() == '\0') {
      return fail("a backslash, newline or NUL in a string");
    }
    ++pos_;
  }
  if (at_end()) return fail("a string without end");
  value = text_.substr(begin, pos_ - begin);
  ++pos_;
  return true;
}

bool LiteralParser::boolean(bool& value) {
  skip_spaces();
  for (const std::string_view word : {std::string_view("True"), std::string_view("False")}) {
    if (text_.substr(pos_, word.size()) != word) continue;
    pos_ += word.size();
    value = word == "True";
    return true;
  }
  return fail("'fortran_order' is neither True nor False");
}

bool LiteralParser::extent(std::int64_t& value) {
  skip_spaces();
  if (peek() == '-') return fail("a negative extent");
  const std::size_t begin = pos_;
  value = 0;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  while (!at_end() && peek() >= '0' && peek() <= '9') {
    const std::int64_t digit = peek() - '0';
    if (value > (kMax - digit) / 10) return fail("an extent above 2^63 - 1");
    value = value * 10 + digit;
    ++pos_;
  }
  if (pos_ == begin) return fail("'shape' is not a tuple of whole numbers");
  if (pos_ - begin > 1 && text_[begin] == '0') return fail("an extent with a leading 0");
  if (peek() == 'L') ++pos_;  // Python 2 wrote long integers so
  return true;
}

bool LiteralParser::shape(std::vector<std::int64_t>& value) {
  constexpr std::size_t kMaxNumpyRank = 64;
  if (!accept('(')) return fail("'shape' is not a tuple");
  bool comma = false;
  while (!accept(')')) {
    if (!value.empty() && !comma) return fail("no ',' between extents");
    if (value.size() == kMaxNumpyRank) return fail("more than 64 extents");
    std::int64_t number = 0;
    if (!extent(number)) return false;
    value.push_back(number);
    comma = accept(',');
  }
  // In Python (3) is a number and (3,) a tuple.
  if (value.size() == 1 && !comma) return fail("'shape' is a number, not a tuple");
  return true;
}

// A plain type is a string. A structured type is a list (of a tuple for each field), or a tuple;
// qkv reads none, so only its end is looked for and its text kept.
bool LiteralParser::descr(std::string& value) {
  skip_spaces();
  if (peek() != '[' && peek() != '(') return string(value);
  constexpr std::size_t kMaxDepth = 64;
  const std::size_t begin = pos_;
  std::string open;  // the closing brackets still to come, innermost last
  do {
    const char c = peek();
    if (at_end() || c == '\0') return fail("a structured 'descr' without end");
    if (c == '\'' || c == '"') {
      std::string ignored;
      if (!string(ignored)) return false;
      continue;
    }
    if (c == '[' || c == '(') {
      if (open.size() == kMaxDepth) return fail("a 'descr' nested more than 64 deep");
      open += c == '[' ? ']' : ')';
    } else if (c == ']' || c == ')') {
      if (c != open.back()) return fail("brackets of 'descr' that don't match");
      open.pop_back();
    }
    ++pos_;
  } while (!open.empty());
  value = text_.substr(begin, pos_ - begin);
  return true;
}

bool LiteralParser::finish() {
  skip_spaces();
  if (at_end()) return true;
  if (peek() == '\0') return fail("NUL padding (NumPy pads with spaces)");
  return fail("text after the closing '}'");
}

}  // namespace

Status npy_header_size(std::span<const std::byte> start, const std::string& where,
                       std::uint64_t& size) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (!text.starts_with(kNpyMagic)) {
    return file_error(where +
                      ": does not begin with the .npy magic bytes \\x93NUMPY; it is not "
                      "an .npy file or is damaged, so write it again");
  }
  if (start.size() < 8) {
    return file_error(where + ": ends inside the .npy header, after " + bytes_text(start.size()) +
                      "; it is truncated, so write it again");
  }
  const unsigned major = byte_at(start, 6);
  const unsigned minor = byte_at(start, 7);
  if (major < 1 || major > 3 || minor != 0) {
    return unsupported(where + ": is of .npy version " + std::to_string(major) + "." +
                       std::to_string(minor) +
                       ", but only 1.0, 2.0 and 3.0 are known; save it "
                       "with numpy.save");
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  if (start.size() < 8 + length_bytes) {
    return file_error(where + ": ends inside the .npy header, after " + bytes_text(start.size()) +
                      "; it is truncated, so write it again");
  }
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | byte_at(start, 8 + i);
  constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 20;
  if (length > kMaxLength) {
    return file_error(where + ": has an .npy header of " + bytes_text(length) +
                      ", more than the 1 MiB that is read" + std::string(kRewrite));
  }
  size = 8 + length_bytes + length;
  return {};
}

Status parse_npy_header(std::span<const std::byte> header, const std::string& where,
                        NpyHeader& result) {
  const std::size_t preamble = byte_at(header, 6) == 1 ? 10 : 12;
  const std::string_view text(reinterpret_cast<const char*>(header.data()) + preamble,
                              header.size() - preamble);
  LiteralParser parser(text);
  NpyHeader parsed;
  if (!parser.header(parsed)) {
    return file_error(where + ": has a malformed .npy header, " + parser.error() +
                      std::string(kRewrite));
  }
  result = std::move(parsed);
  return {};
}

std::string format_npy_header(DType dtype, std::span<const std::int64_t> shape) {
  std::string text = "{'descr': '";
  text += npy_name(dtype);
  text += "', 'fortran_order': False, 'shape': (";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  text += shape.size() == 1 ? ",), }" : "), }";
  // NumPy pads with spaces to a multiple of 64 bytes, after room for the first extent to grow to 21
  // digits. With at most 4 extents, whose product is under 2^62, that is always 128 bytes.
  constexpr std::size_t kHeaderSize = 128;
  constexpr std::size_t kPreamble = 10;  // version 1.0
  text.resize(kHeaderSize - kPreamble - 1, ' ');
  text += '\n';
  std::string header(kNpyMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace qkv::io
