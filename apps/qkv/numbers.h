// Numbers on the command line, read exactly and whatever the locale.
#ifndef QKV_APPS_QKV_NUMBERS_H_
#define QKV_APPS_QKV_NUMBERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/cpu.h"
#include "qkv/tensor.h"

namespace qkv::app {

// All throw a Failure that names `option` if `text` is not what they read.
std::int64_t parse_integer(std::string_view option, std::string_view text);
double parse_double(std::string_view option, std::string_view text);  // "inf" and "nan" too
float parse_float(std::string_view option, std::string_view text);
int parse_threads(std::string_view text);
DType parse_dtype(std::string_view option, std::string_view text);
Isa parse_isa(std::string_view text);

// "1,2,3". False if `text` is no such list, so that it can be the name of an array; throws if it is
// one with a number out of range.
bool parse_integers(std::string_view option, std::string_view text,
                    std::vector<std::int64_t>& numbers);
bool parse_floats(std::string_view option, std::string_view text, std::vector<float>& numbers);

// First and last, both included.
struct IndexRange {
  std::int64_t first, last;
};
// "0,2-5" or "all", which gives none.
std::vector<IndexRange> parse_ranges(std::string_view option, std::string_view text);
// The indices themselves; throws if one is not below `count`.
std::vector<std::int64_t> expand(std::string_view option, const std::vector<IndexRange>& ranges,
                                 std::int64_t count);

// The parts of `text` between commas; "" has one, empty part.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_NUMBERS_H_
