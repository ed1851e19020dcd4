// qkv diff: are the arrays of two files equal, and if not, how far apart.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "array_files.h"
#include "command.h"
#include "compare.h"
#include "numbers.h"
#include "qkv/io.h"
#include "terminal.h"

namespace qkv::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDescription =
    "Compares every array of two files. The exit code is 0 if all agree, else 1.\n\n"
    "Without a tolerance, elements agree if their bits are equal: -0 and +0 differ, and so do two\n"
    "NaNs of different bits. With a tolerance, NaNs agree with each other and -0 with +0, and "
    "other\n"
    "elements if one of the tolerances given allows their difference. An array that only one file\n"
    "has, or that has another type or shape in the other file, is a difference in any case, but "
    "for\n"
    "two floating-point types with --atol or --rtol, which are compared as numbers. The nameless\n"
    "array of an .npy file is compared with the only array of the other file.";

constexpr const char* kExamples =
    "  qkv diff out.npz expected.npz\n"
    "  qkv diff out.npy torch.npy --atol 1e-6 --rtol 1e-5\n"
    "  qkv diff a.safetensors b.safetensors --ulp 2 --json";

struct DiffRequest {
  std::string a, b;
  Tolerance tolerance;
  bool json = false;
};

double parse_tolerance(const char* option, const std::string& text) {
  const double number = parse_double(option, text);
  if (number >= 0) return number;
  throw usage(fmt::format("{}: {} is not a number of 0 or more", option, in_quotes(text)));
}

DiffRequest parse_diff(int argc, const char* const* argv) {
  DiffRequest request;
  std::string atol, rtol, ulp;
  CLI::App app{kDescription, "qkv diff"};
  app.add_option("A", request.a, "One file")->required()->option_text("");
  app.add_option("B", request.b, "The other file")->required()->option_text("");
  app.add_option("--atol", atol, "Allow |a - b| <= atol + rtol * |b|")->option_text("NUMBER");
  app.add_option("--rtol", rtol, "See --atol")->option_text("NUMBER");
  app.add_option("--ulp", ulp, "Allow so many steps between neighbouring numbers of the type")
      ->option_text("N");
  app.add_flag("--json", request.json, "Print one JSON object")->disable_flag_override();
  parse_options(app, kExamples, argc, argv);
  if (!atol.empty()) request.tolerance.atol = parse_tolerance("--atol", atol);
  if (!rtol.empty()) request.tolerance.rtol = parse_tolerance("--rtol", rtol);
  if (!ulp.empty()) {
    const std::int64_t steps = parse_integer("--ulp", ulp);
    if (steps < 0) throw usage("--ulp: " + ulp + " is negative; pass 0 or more");
    request.tolerance.ulp = static_cast<std::uint64_t>(steps);
  }
  return request;
}

// One array of either file or both, and what came of it.
struct Row {
  std::string name;
  std::string status;  // "equal", "within", "different", "missing", "type", "shape"
  std::string detail;  // for people
  std::string type;    // "float32 [2, 3]" of A, or of B if A has it not
  std::optional<Comparison> comparison;
  bool agrees() const { return status == "equal" || status == "within"; }
};

// The array of `reader` to be compared with `array`, or nullptr.
const io::ArrayInfo* partner(const io::ArrayInfo& array, const io::Reader& own,
                             const io::Reader& reader) {
  const std::vector<io::ArrayInfo>& candidates = reader.arrays();
  for (const io::ArrayInfo& candidate : candidates) {
    if (candidate.name == array.name) return &candidate;
  }
  const bool lonely = own.arrays().size() == 1 && candidates.size() == 1;
  if (lonely && (array.name.empty() || candidates[0].name.empty())) return &candidates[0];
  return nullptr;
}

std::string ulp_text(const Comparison& comparison) {
  if (!comparison.largest_ulp) return "";
  if (*comparison.largest_ulp == std::numeric_limits<std::uint64_t>::max()) return "";
  return fmt::format(", {} ulp", *comparison.largest_ulp);
}

std::string explain(const Comparison& comparison) {
  return fmt::format("{} of {} differ, by at most {:.6g}{}; first at [{}]: {} and {}",
                     comparison.unequal_bits, comparison.elements, comparison.largest,
                     ulp_text(comparison), fmt::join(comparison.first_place, ", "),
                     comparison.first_a, comparison.first_b);
}

Row compare_arrays(const Tensor& a, const Tensor& b, const Tolerance& tolerance) {
  Row row;
  row.type = describe(a);
  const bool by_value =
      (tolerance.atol || tolerance.rtol) && is_floating(a.dtype()) && is_floating(b.dtype());
  if (a.dtype() != b.dtype() && !by_value) {
    row.status = "type";
    row.detail = fmt::format("{} in A, {} in B", name_of(a.dtype()), name_of(b.dtype()));
    return row;
  }
  if (shape_string(a) != shape_string(b)) {
    row.status = "shape";
    row.detail = fmt::format("{} in A, {} in B", shape_string(a), shape_string(b));
    return row;
  }
  if (a.dtype() == b.dtype()) {
    row.comparison = compare(a, b, tolerance);
  } else {
    row.type = fmt::format("{} and {} {}", name_of(a.dtype()), name_of(b.dtype()), shape_string(a));
    row.comparison =
        compare(converted(a, DType::kFloat64), converted(b, DType::kFloat64), tolerance);
    row.comparison->largest_ulp.reset();  // of neither type
  }
  const Comparison& result = *row.comparison;
  if (result.unequal_bits == 0) {
    row.status = "equal";
    row.detail = "equal bits";
  } else {
    row.status = result.disagreeing == 0 ? "within" : "different";
    row.detail = explain(result);
    if (row.agrees()) row.detail = "within the tolerance: " + row.detail;
    if (!row.agrees() && tolerance.given()) {
      row.detail = fmt::format("{} beyond the tolerance: {}", result.disagreeing, row.detail);
    }
  }
  return row;
}

Row missing_row(const std::string& name, const io::Reader& reader, const std::string& file) {
  Tensor tensor;
  Row row;
  row.name = name;
  row.status = "missing";
  row.detail = "only in " + in_quotes(file);
  if (reader.read(name, tensor).ok()) row.type = describe(tensor);
  return row;
}

std::vector<Row> compare_files(const DiffRequest& request) {
  io::Reader a, b;
  check(io::Reader::open(request.a, a));
  check(io::Reader::open(request.b, b));
  std::vector<Row> rows;
  for (const io::ArrayInfo& array : a.arrays()) {
    const io::ArrayInfo* other = partner(array, a, b);
    if (other == nullptr) {
      rows.push_back(missing_row(array.name, a, request.a));
      continue;
    }
    Tensor tensor_a, tensor_b;
    check(a.read(array.name, tensor_a));
    check(b.read(other->name, tensor_b));
    rows.push_back(compare_arrays(tensor_a, tensor_b, request.tolerance));
    rows.back().name = array.name.empty() ? other->name : array.name;
  }
  for (const io::ArrayInfo& array : b.arrays()) {
    if (partner(array, b, a) == nullptr) rows.push_back(missing_row(array.name, b, request.b));
  }
  return rows;
}

void print_rows(const DiffRequest& request, const std::vector<Row>& rows) {
  std::size_t name_width = 0, type_width = 0;
  for (const Row& row : rows) {
    name_width = std::max(name_width, row.name.size());
    type_width = std::max(type_width, row.type.size());
  }
  std::size_t differing = 0;
  for (const Row& row : rows) {
    differing += row.agrees() ? 0 : 1;
    const Colour colour = row.agrees() ? Colour::kGreen : Colour::kRed;
    fmt::print("{:<{}}  {:<{}}  {}\n", row.name, name_width, row.type, type_width,
               painted(row.detail, colour, stdout));
  }
  if (rows.empty()) fmt::print("no arrays in either file\n");
  if (differing > 0) {
    fmt::print("{} of {} arrays differ between {} and {}\n", differing, rows.size(), request.a,
               request.b);
  }
}

void print_json(const DiffRequest& request, const std::vector<Row>& rows) {
  Json arrays = Json::array();
  bool agree = true;
  for (const Row& row : rows) {
    agree = agree && row.agrees();
    Json entry = {{"name", row.name}, {"agree", row.agrees()}, {"status", row.status}};
    if (row.comparison) {
      const Comparison& result = *row.comparison;
      entry["elements"] = result.elements;
      entry["unequal_bits"] = result.unequal_bits;
      entry["disagreeing"] = result.disagreeing;
      // JSON has no infinity: null.
      entry["largest_difference"] = std::isfinite(result.largest) ? Json(result.largest) : Json();
      if (result.largest_ulp) entry["largest_ulp"] = *result.largest_ulp;
      if (result.unequal_bits > 0) {
        entry["first_place"] = result.first_place;
        entry["first_values"] = {result.first_a, result.first_b};
      }
    } else {
      entry["detail"] = row.detail;
    }
    arrays.push_back(std::move(entry));
  }
  const Json json = {{"a", request.a}, {"b", request.b}, {"agree", agree}, {"arrays", arrays}};
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

int diff(int argc, const char* const* argv) {
  const DiffRequest request = parse_diff(argc, argv);
  const std::vector<Row> rows = compare_files(request);
  if (request.json) {
    print_json(request, rows);
  } else {
    print_rows(request, rows);
  }
  const bool agree = std::ranges::all_of(rows, [](const Row& row) { return row.agrees(); });
  return agree ? kSuccess : kCheckFailed;
}

}  // namespace qkv::app
