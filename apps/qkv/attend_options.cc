#include "attend_options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "command.h"
#include "terminal.h"

namespace qkv::app {
namespace {

constexpr const char* kDescription =
    "Computes softmax(Q K^T / sqrt(d_k)) V, exactly and in memory that grows with the length "
    "only.\n"
    "The result has the same bits on every machine and with any number of threads.\n\n"
    "An ARRAY is the name of an array in INPUT, a file with one array (k.npy), or FILE:NAME.\n"
    "NUMBERS are written out (3,5,2) or an ARRAY. Files are .npy, .npz or .safetensors.";

constexpr const char* kExamples =
    "  qkv attend qkv.npz -o out.npz --causal\n"
    "  qkv attend --q q.npy --k k.npy --v v.npy -o out.npy --window 128,0 --threads 4\n"
    "  qkv attend examples/data/minilm.safetensors -o head4.npz --q layer2.q --k layer2.k \\\n"
    "      --v layer2.v --lse --weights 4:0-9\n"
    "  qkv attend qkv.safetensors --causal --explain     (plans, computes nothing)";

// What was written, before it is understood.
struct Texts {
  std::string layout, causal, query_offset, window;
  std::string key_lengths, key_begin, query_lengths, cu_seqlens, key_cu_seqlens;
  std::string scale, softcap, sinks, alibi;
  std::string arithmetic, dtype, out_dtype, threads, isa, weights;
};

struct Adder {
  CLI::App& app;
  const char* group;

  void operator()(const char* name, std::string& value, const char* what, const char* help) {
    app.add_option(name, value, help)->option_text(what)->group(group);
  }
  // A flag that may have "=value".
  void flag(const char* name, std::string& value, const char* what, const char* help) {
    app.add_flag(name, value, help)
        ->option_text(what)
        ->group(group)
        ->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  }
  void flag(const char* name, bool& value, const char* help) {
    app.add_flag(name, value, help)->group(group)->disable_flag_override();
  }
};

void add_input_options(CLI::App& app, AttendRequest& request, Texts& texts) {
  Adder add{app, "Input and output"};
  add("INPUT", request.input, "", "File with the arrays; not needed if --q, --k and --v are files");
  add("-o,--output", request.output, "OUT",
      "File for the result: `out`, and `lse` and `weights` if asked for (.npy: out only)");
  add("--q", request.query, "ARRAY", "Queries; default: q, query or queries of INPUT");
  add("--k", request.key, "ARRAY", "Keys; default: k, key or keys");
  add("--v", request.value, "ARRAY", "Values; default: v, value or values");
  add("--layout", texts.layout, "bhld|blhd",
      "Order of axes: [batch, heads, length, d] (default) or [batch, length, heads, d]; batch, "
      "and in rank 2 heads, may be missing");
  add("--dtype", texts.dtype, "TYPE",
      "Convert queries, keys, values and bias to float32 or float64 first; float64 is computed in "
      "float64 by plain loops");
  add("--out-dtype", texts.out_dtype, "TYPE",
      "Type of out and weights: float32 or a type of the inputs; default: the queries' type");
  add.flag("--force", request.force, "Overwrite OUT if it exists");
}

void add_visibility_options(CLI::App& app, AttendRequest& request, Texts& texts) {
  Adder add{app, "Which keys a query sees"};
  add.flag("--causal{on}", texts.causal, "[=top-left|bottom-right|OFFSET]",
           "Query i sees keys up to i + offset; bottom-right (default): the last query sees the "
           "last key; top-left: offset 0");
  add("--query-offset", texts.query_offset, "NUMBERS",
      "Position of the first query among the keys, one for all or one a sequence; also for "
      "--window and --alibi");
  add("--window", texts.window, "LEFT,RIGHT",
      "See so many keys before and after the own position; -1 is unbounded");
  add("--mask", request.mask, "ARRAY",
      "Booleans, true = may attend, broadcast to the scores; floating-point numbers are added, as "
      "by --bias");
  add("--key-lengths", texts.key_lengths, "NUMBERS", "Live keys of each sequence");
  add("--key-begin", texts.key_begin, "NUMBERS", "First live key of each sequence");
  add("--query-lengths", texts.query_lengths, "NUMBERS", "Live queries of each sequence");
  add("--cu-seqlens", texts.cu_seqlens, "NUMBERS",
      "Packed sequences: where each begins, and the end of the last; arrays are then [total, "
      "heads, d]. A file with two arrays has those of queries and of keys");
  add("--key-cu-seqlens", texts.key_cu_seqlens, "NUMBERS", "The same for keys, if they differ");
}

void add_score_options(CLI::App& app, AttendRequest& request, Texts& texts) {
  Adder add{app, "Scores"};
  add("--scale", texts.scale, "NUMBER", "Factor of the dot products; default 1/sqrt(d_k)");
  add("--softcap", texts.softcap, "CAP", "CAP * tanh(score / CAP); 0 is none");
  add("--bias", request.bias, "ARRAY", "Added to the scores, broadcast to them");
  add.flag("--alibi{on}", texts.alibi, "[=NUMBERS]",
           "Subtract slope * distance; the paper's slopes, or one a query head");
  add("--sinks", texts.sinks, "NUMBERS", "One logit a query head, in the softmax's sum only");
}

void add_result_options(CLI::App& app, AttendRequest& request, Texts& texts) {
  Adder add{app, "More results"};
  add.flag("--lse", request.lse, "Also the logarithm of each row's sum of exponentials");
  add("--weights", texts.weights, "HEADS:ROWS",
      "Also the attention weights of these query heads and rows: 0,2:0-3,7 or all:all");
}

void add_execution_options(CLI::App& app, AttendRequest& request, Texts& texts) {
  Adder add{app, "Execution"};
  add("--arithmetic", texts.arithmetic, "by-type|float32",
      "float32 also computes all-bfloat16 inputs in float32");
  add("--threads", texts.threads, "N", "Threads at most; 0 (default): all. No effect on the bits");
  add("--isa", texts.isa, "NAME", "Instruction set, see `qkv info`; no effect on the bits");
  add.flag("--explain", request.explain, "Print the plan first; without -o nothing is computed");
  add.flag("--json", request.json, "Print one JSON object");
}

template <class Parse, class T>
NumbersOrArray<T> numbers_or_array(const char* option, const std::string& text, Parse parse,
                                   NumbersOrArray<T> result) {
  if (text.empty()) return result;
  result.given = true;
  if (!parse(option, text, result.numbers)) {
    result.numbers.clear();
    result.array = text;
  }
  return result;
}

NumbersOrArray<std::int64_t> integers(const char* option, const std::string& text) {
  return numbers_or_array(option, text, parse_integers, NumbersOrArray<std::int64_t>());
}

NumbersOrArray<float> floats(const char* option, const std::string& text) {
  return numbers_or_array(option, text, parse_floats, NumbersOrArray<float>());
}

void understand_causal(const std::string& text, AttendRequest& request) {
  if (text.empty()) return;
  request.causal = true;
  if (text == "on") return;
  if (request.query_offset.given) {
    throw usage("--causal=" + text + " and --query-offset both place the queries; leave one out");
  }
  if (text == "bottom-right") return;
  if (text == "top-left") {
    request.alignment = Alignment::kTopLeft;
    return;
  }
  request.query_offset = integers("--causal", text);
  if (request.query_offset.numbers.size() != 1) {
    throw usage("--causal: " + in_quotes(text) +
                " is not top-left, bottom-right or an offset; for one offset a sequence use "
                "--query-offset");
  }
}

std::optional<std::int64_t> window_end(std::string_view text) {
  const std::int64_t end = parse_integer("--window", text);
  if (end < -1) {
    throw usage(fmt::format("--window: {} is below -1; pass 0 or more, or -1 for no bound", end));
  }
  if (end == -1) return std::nullopt;
  return end;
}

void understand_window(const std::string& text, AttendRequest& request) {
  if (text.empty()) return;
  const std::vector<std::string_view> ends = split(text, ',');
  if (ends.size() != 2 || ends[0].empty() || ends[1].empty()) {
    throw usage("--window: " + in_quotes(text) + " must be two numbers, LEFT,RIGHT, such as 128,0");
  }
  request.window.left = window_end(ends[0]);
  request.window.right = window_end(ends[1]);
}

void understand_layout(const Texts& texts, AttendRequest& request) {
  if (texts.layout.empty()) return;
  if (texts.layout != "bhld" && texts.layout != "blhd") {
    throw usage("--layout: " + in_quotes(texts.layout) + " is not bhld or blhd");
  }
  if (texts.layout == "blhd") request.layout = Layout::kLengthFirst;
  if (request.cu_seqlens.given && request.layout == Layout::kHeadsFirst) {
    throw usage("--layout: packed sequences are [total, heads, d]; leave out --layout bhld");
  }
}

void understand_scores(const Texts& texts, AttendRequest& request) {
  if (!texts.scale.empty()) request.scale = parse_double("--scale", texts.scale);
  if (!texts.softcap.empty()) {
    const float cap = parse_float("--softcap", texts.softcap);
    if (cap != 0) request.softcap = cap;
  }
  request.sinks = floats("--sinks", texts.sinks);
  request.alibi = !texts.alibi.empty();
  if (request.alibi && texts.alibi != "on") request.alibi_slopes = floats("--alibi", texts.alibi);
}

void understand_types(const Texts& texts, AttendRequest& request) {
  if (texts.arithmetic == "float32") {
    request.arithmetic = Arithmetic::kFloat32;
  } else if (!texts.arithmetic.empty() && texts.arithmetic != "by-type") {
    throw usage("--arithmetic: " + in_quotes(texts.arithmetic) + " is not by-type or float32");
  }
  if (!texts.dtype.empty()) {
    const DType dtype = parse_dtype("--dtype", texts.dtype);
    if (dtype != DType::kFloat32 && dtype != DType::kFloat64) {
      throw usage("--dtype: inputs can be converted to float32 or float64, not " + texts.dtype);
    }
    request.dtype = dtype;
  }
  if (!texts.out_dtype.empty()) request.out_dtype = parse_dtype("--out-dtype", texts.out_dtype);
}

void understand_weights(const std::string& text, AttendRequest& request) {
  if (text.empty()) return;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    throw usage("--weights: " + in_quotes(text) + " has no colon; write HEADS:ROWS, such as 0:all");
  }
  const std::string_view view = text;
  request.weights = WeightsRequest{parse_ranges("--weights", view.substr(0, colon)),
                                   parse_ranges("--weights", view.substr(colon + 1))};
}

void check_together(const AttendRequest& request) {
  if (request.key_cu_seqlens.given && !request.cu_seqlens.given) {
    throw usage("--key-cu-seqlens: it needs --cu-seqlens, the sequences of the queries");
  }
  if (request.output.empty() && !request.explain) {
    throw usage("-o is missing; name a file for the result, or use --explain to see the plan only");
  }
  if (request.input.empty() &&
      (request.query.empty() || request.key.empty() || request.value.empty())) {
    throw usage(
        "INPUT is missing; name a file with q, k and v, or pass three files as --q --k --v");
  }
}

}  // namespace

AttendRequest parse_attend(int argc, const char* const* argv) {
  AttendRequest request;
  Texts texts;
  CLI::App app{kDescription, "qkv attend"};
  add_input_options(app, request, texts);
  add_visibility_options(app, request, texts);
  add_score_options(app, request, texts);
  add_result_options(app, request, texts);
  add_execution_options(app, request, texts);
  parse_options(app, kExamples, argc, argv);

  request.query_offset = integers("--query-offset", texts.query_offset);
  request.key_lengths = integers("--key-lengths", texts.key_lengths);
  request.key_begin = integers("--key-begin", texts.key_begin);
  request.query_lengths = integers("--query-lengths", texts.query_lengths);
  request.cu_seqlens = integers("--cu-seqlens", texts.cu_seqlens);
  request.key_cu_seqlens = integers("--key-cu-seqlens", texts.key_cu_seqlens);
  understand_causal(texts.causal, request);
  understand_window(texts.window, request);
  understand_layout(texts, request);
  understand_scores(texts, request);
  understand_types(texts, request);
  understand_weights(texts.weights, request);
  if (!texts.threads.empty()) request.threads = parse_threads(texts.threads);
  if (!texts.isa.empty()) request.isa = parse_isa(texts.isa);
  check_together(request);
  return request;
}

}  // namespace qkv::app
