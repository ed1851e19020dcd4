// The options of `qkv attend`, parsed but not yet looked at: nothing here touches a file.
#ifndef QKV_APPS_QKV_ATTEND_OPTIONS_H_
#define QKV_APPS_QKV_ATTEND_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "numbers.h"
#include "qkv/options.h"
#include "qkv/tensor.h"

namespace qkv::app {

// Numbers from the command line, or the array that has them. `given` if either.
template <class T>
struct NumbersOrArray {
  bool given = false;
  std::vector<T> numbers;
  std::string array;  // "" if the numbers were written out
};

enum class Layout {
  kHeadsFirst,   // bhld: [batch, heads, length, d]
  kLengthFirst,  // blhd: [batch, length, heads, d]
};

struct WeightsRequest {
  std::vector<IndexRange> heads, rows;  // empty: all
};

// Arrays are named as array_files.h says. "" where nothing was given.
struct AttendRequest {
  std::string input, output;
  std::string query, key, value;
  Layout layout = Layout::kHeadsFirst;

  bool causal = false;
  Alignment alignment = Alignment::kBottomRight;
  NumbersOrArray<std::int64_t> query_offset;
  Window window;
  std::string mask, bias;
  NumbersOrArray<std::int64_t> key_lengths, key_begin, query_lengths;
  NumbersOrArray<std::int64_t> cu_seqlens, key_cu_seqlens;

  std::optional<double> scale;
  std::optional<float> softcap;
  NumbersOrArray<float> sinks;
  bool alibi = false;  // the paper's slopes, unless `alibi_slopes` are given
  NumbersOrArray<float> alibi_slopes;

  Arithmetic arithmetic = Arithmetic::kByType;
  std::optional<DType> dtype;      // query, key, value, bias are converted to it
  std::optional<DType> out_dtype;  // absent: query's
  int threads = 0;
  Isa isa = Isa::kBest;

  bool lse = false;
  std::optional<WeightsRequest> weights;
  bool explain = false, json = false, force = false;
};

// argv[0] is "attend". Throws HelpRequested or a Failure.
AttendRequest parse_attend(int argc, const char* const* argv);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_ATTEND_OPTIONS_H_
