// Words for messages: names and shapes from a hostile file, made safe to print in one line.
#ifndef QKV_SRC_IO_TEXT_H_
#define QKV_SRC_IO_TEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace qkv::io {

bool is_utf8(std::string_view text);

// `text` with control characters, and bytes that are not UTF-8, as \xNN.
std::string printable(std::string_view text);

// printable(text) in double quotes; a long one is cut with "..." after about 80 bytes.
std::string in_quotes(std::string_view text);

// "[2, 3]"; more than 8 extents are cut.
std::string shape_text(std::span<const std::int64_t> shape);

// "1 byte", "12 bytes"
std::string bytes_text(std::uint64_t bytes);

// What errno means, in words.
std::string errno_text(int error);

}  // namespace qkv::io

#endif  // QKV_SRC_IO_TEXT_H_
