#include "attend_problem.h"

#include <fmt/core.h>

#include "array_files.h"
#include "command.h"
#include "terminal.h"

namespace qkv::app {
namespace {

class Loader {
 public:
  explicit Loader(const AttendRequest& request) : request_(request), files_(request.input) {}

  AttendProblem load() {
    load_inputs();
    load_sequences();
    load_masks();
    load_numbers();
    set_options();
    allocate_outputs();
    problem_.files = files_.paths();
    return std::move(problem_);
  }

 private:
  bool length_first() const { return request_.layout == Layout::kLengthFirst && !packed(); }
  bool packed() const { return request_.cu_seqlens.given; }

  // Between the file's order of axes and the library's, which works both ways.
  template <class View>
  View reordered(const View& view) const {
    if (!length_first() || view.rank < 3 || view.rank > kMaxRank) return view;
    return view.transposed(view.rank - 3, view.rank - 2);
  }

  Tensor keep(Tensor tensor, bool convert) {
    const bool other = request_.dtype && tensor.dtype() != *request_.dtype;
    if (convert && other) tensor = converted(tensor, *request_.dtype);
    problem_.memory.push_back(tensor);
    problem_.input_bytes += static_cast<std::uint64_t>(tensor.size()) * size_of(tensor.dtype());
    return tensor;
  }

  void load_inputs() {
    constexpr std::string_view kQuery[] = {"q", "query", "queries"}, kKey[] = {"k", "key", "keys"},
                               kValue[] = {"v", "value", "values"};
    const auto load_one = [&](const char* option, const std::string& source,
                              std::span<const std::string_view> defaults) {
      return reordered(TensorView(keep(files_.find(option, source, defaults), true)));
    };
    problem_.inputs.query = load_one("--q", request_.query, kQuery);
    problem_.inputs.key = load_one("--k", request_.key, kKey);
    problem_.inputs.value = load_one("--v", request_.value, kValue);
  }

  void load_masks() {
    if (!request_.mask.empty()) {
      Tensor mask = files_.find("--mask", request_.mask, kMaskNames);
      const bool convert = is_floating(mask.dtype());  // then it is a bias
      if (convert && only_zeros_and_ones(mask)) {
        throw usage(
            "--mask: floating-point numbers, all 0 or 1, would be added to the scores; convert "
            "them to bool to mask with them, or pass --bias to add them");
      }
      problem_.options.mask = keep(std::move(mask), convert);
    }
    if (!request_.bias.empty()) {
      problem_.options.bias = keep(files_.find("--bias", request_.bias, kBiasNames), true);
    }
  }

  std::vector<std::int64_t> numbers(const char* option,
                                    const NumbersOrArray<std::int64_t>& source) {
    if (!source.given) return {};
    if (source.array.empty()) return source.numbers;
    return not_empty(option, integers_of(option, files_.find(option, source.array)));
  }
  std::vector<float> numbers(const char* option, const NumbersOrArray<float>& source) {
    if (!source.given) return {};
    if (source.array.empty()) return source.numbers;
    return not_empty(option, floats_of(option, files_.find(option, source.array)));
  }
  // The library takes an empty list for an absent one.
  template <class T>
  std::vector<T> not_empty(const char* option, std::vector<T> list) {
    if (list.empty()) throw usage(std::string(option) + ": the array is empty; leave it out");
    return list;
  }

  void load_sequences() {
    AttentionOptions& options = problem_.options;
    if (!packed()) return;
    if (request_.cu_seqlens.array.empty() || request_.key_cu_seqlens.given) {
      options.query_cu_seqlens = numbers("--cu-seqlens", request_.cu_seqlens);
      options.key_cu_seqlens = request_.key_cu_seqlens.given
                                   ? numbers("--key-cu-seqlens", request_.key_cu_seqlens)
                                   : options.query_cu_seqlens;
      return;
    }
    const std::string& source = request_.cu_seqlens.array;
    const std::vector<Tensor> arrays = files_.find_all("--cu-seqlens", source);
    if (arrays.empty() || arrays.size() > 2) {
      throw usage(
          fmt::format("--cu-seqlens: {} has {} arrays; it must have one for queries and "
                      "keys, or two in this order",
                      in_quotes(source), arrays.size()));
    }
    const auto list = [&](const Tensor& array) {
      return not_empty("--cu-seqlens", integers_of("--cu-seqlens", array));
    };
    options.query_cu_seqlens = list(arrays.front());
    options.key_cu_seqlens = list(arrays.back());
  }

  void load_numbers() {
    AttentionOptions& options = problem_.options;
    options.query_offset = numbers("--query-offset", request_.query_offset);
    options.key_lengths = numbers("--key-lengths", request_.key_lengths);
    options.key_begin = numbers("--key-begin", request_.key_begin);
    options.query_lengths = numbers("--query-lengths", request_.query_lengths);
    options.sinks = numbers("--sinks", request_.sinks);
    if (!request_.alibi) return;
    const TensorView& query = problem_.inputs.query;
    if (request_.alibi_slopes.given) {
      options.alibi_slopes = numbers("--alibi", request_.alibi_slopes);
    } else if (query.rank >= 2 && query.rank <= kMaxRank) {
      const std::int64_t heads = packed()          ? query.extents[1]
                                 : query.rank == 2 ? 1
                                                   : query.extents[query.rank - 3];
      options.alibi_slopes = alibi_slopes(heads);
    }
  }

  void set_options() {
    AttentionOptions& options = problem_.options;
    options.causal = request_.causal;
    options.alignment = request_.alignment;
    options.window = request_.window;
    options.scale = request_.scale;
    options.softcap = request_.softcap;
    options.arithmetic = request_.arithmetic;
  }

  MutableTensorView add_result(const char* name, DType dtype,
                               const std::vector<std::int64_t>& shape) {
    Tensor tensor;
    check(allocate(dtype, shape, tensor));
    problem_.memory.push_back(tensor);
    problem_.results.push_back({name, tensor});
    return tensor;
  }

  void allocate_outputs() {
    const AttentionInputs& inputs = problem_.inputs;
    std::vector<std::int64_t> shape = output_shape(inputs, problem_.options);
    const std::vector<std::int64_t> rows(shape.begin(), shape.end() - 1);
    const std::size_t rank = shape.size();
    if (length_first() && rank >= 3) std::swap(shape[rank - 3], shape[rank - 2]);
    const DType dtype = request_.out_dtype.value_or(inputs.query.dtype);
    AttentionOutputs& outputs = problem_.outputs;
    outputs.out = reordered(add_result("out", dtype, shape));
    if (request_.lse) {
      const bool is_float64 = inputs.query.dtype == DType::kFloat64;
      std::vector<std::int64_t> lse_shape = rows;
      if (packed()) lse_shape = {rows[1], rows[0]};
      outputs.lse = add_result("lse", is_float64 ? DType::kFloat64 : DType::kFloat32, lse_shape);
    }
    if (request_.weights) allocate_weights(dtype, rows);
  }

  void allocate_weights(DType dtype, const std::vector<std::int64_t>& rows) {
    const TensorView& query = problem_.inputs.query;
    const std::int64_t length = packed() ? query.extents[0] : query.extents[query.rank - 2];
    const std::int64_t heads = packed()          ? query.extents[1]
                               : query.rank == 2 ? 1
                                                 : query.extents[query.rank - 3];
    WeightsSelection& selection = problem_.outputs.selection;
    selection.heads = expand("--weights", request_.weights->heads, heads);
    selection.rows = expand("--weights", request_.weights->rows, length);
    const auto count = [](const std::vector<std::int64_t>& chosen, std::int64_t all) {
      return chosen.empty() ? all : static_cast<std::int64_t>(chosen.size());
    };
    const TensorView& key = problem_.inputs.key;
    std::vector<std::int64_t> shape = {count(selection.rows, length),
                                       packed() ? key.extents[0] : key.extents[key.rank - 2]};
    if (query.rank >= 3) shape.insert(shape.begin(), count(selection.heads, heads));
    if (query.rank == 4) shape.insert(shape.begin(), rows[0]);
    problem_.outputs.weights = add_result("weights", dtype, shape);
  }

  static constexpr std::string_view kMaskNames[] = {"mask"};
  static constexpr std::string_view kBiasNames[] = {"bias"};

  const AttendRequest& request_;
  ArrayFiles files_;
  AttendProblem problem_;
};

}  // namespace

AttendProblem load_problem(const AttendRequest& request) { return Loader(request).load(); }

}  // namespace qkv::app
