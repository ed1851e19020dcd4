#include "golden.h"

#include <limits>

#include "command.h"
#include "fill.h"

namespace qkv::app {
namespace {

constexpr DType kF32 = DType::kFloat32, kF16 = DType::kFloat16, kBF16 = DType::kBFloat16;

struct Shape {
  std::int64_t batch, heads, key_heads, queries, keys, d_qk, d_v;
};

struct Draft;

struct Spec {
  std::string_view name;
  Shape shape;
  // Adds what makes the problem special; may be null.
  void (*add)(Draft& draft);
  DType query = kF32, key = kF32, value = kF32;
};

// A problem in the making.
struct Draft {
  const Spec& spec;
  random::Generator generator;
  GoldenProblem problem;
  WeightsSelection weights;
  bool has_weights = false;

  AttentionOptions& options() { return problem.options; }
  Tensor keep(Tensor tensor) {
    problem.memory.push_back(tensor);
    return tensor;
  }
  void bias(std::initializer_list<std::int64_t> shape, DType dtype = kF32) {
    options().bias = keep(draw(generator, dtype, std::span(shape.begin(), shape.size())));
  }
  void mask(std::initializer_list<std::int64_t> shape, double share) {
    options().mask = keep(draw_mask(generator, share, std::span(shape.begin(), shape.size())));
  }
  void window(std::int64_t left, std::int64_t right) {
    if (left >= 0) options().window.left = left;
    if (right >= 0) options().window.right = right;
  }
  void pack(std::vector<std::int64_t> queries, std::vector<std::int64_t> keys) {
    options().query_cu_seqlens = std::move(queries);
    options().key_cu_seqlens = std::move(keys);
  }
  void select(std::vector<std::int64_t> heads, std::vector<std::int64_t> rows) {
    weights = {std::move(heads), std::move(rows)};
    has_weights = true;
  }
};

constexpr float kNoSink = -std::numeric_limits<float>::infinity();

void causal(Draft& d) { d.options().causal = true; }

// Sizes are small: the portable kernel, which emulates fused multiply-add, runs them all thrice in
// a few seconds.
constexpr Spec kSpecs[] = {
    {"plain", {1, 2, 2, 32, 64, 32, 32}, nullptr},
    {"lesson size d 2", {1, 1, 1, 1, 3, 2, 2}, nullptr},
    {"one query, one key", {1, 1, 1, 1, 1, 64, 64}, nullptr},
    {"d 64", {1, 2, 2, 70, 130, 64, 64}, nullptr},
    {"d 128", {1, 1, 1, 50, 100, 128, 128}, nullptr},
    {"d 33, odd lengths", {2, 3, 3, 37, 91, 33, 33}, nullptr},
    {"d_qk 0", {1, 1, 1, 5, 70, 0, 8}, nullptr},
    {"d_v 1", {1, 2, 2, 17, 65, 16, 1}, nullptr},
    {"d_v above d_qk", {1, 2, 2, 40, 80, 24, 72}, nullptr},
    {"d_v below d_qk", {1, 2, 2, 40, 80, 192, 40}, nullptr},
    {"block of 31 keys", {1, 2, 2, 20, 31, 32, 32}, nullptr},
    {"block of 33 keys", {1, 2, 2, 20, 33, 32, 32}, nullptr},
    {"no keys", {1, 2, 2, 4, 0, 16, 16}, nullptr},
    {"no keys but sinks",
     {1, 2, 2, 4, 0, 16, 16},
     [](Draft& d) { d.options().sinks = {1.5f, -2}; }},
    {"GQA 8:2", {1, 8, 2, 19, 77, 32, 32}, nullptr},
    {"MQA 6:1 causal", {2, 6, 1, 23, 60, 32, 32}, causal},
    {"causal square", {1, 2, 2, 100, 100, 32, 32}, causal},
    {"causal bottom right", {1, 2, 2, 30, 90, 32, 32}, causal},
    {"causal top left",
     {1, 2, 2, 30, 90, 32, 32},
     [](Draft& d) {
       causal(d);
       d.options().alignment = Alignment::kTopLeft;
     }},
    {"causal, more queries than keys", {1, 2, 2, 90, 30, 32, 32}, causal},
    {"causal offset a sequence",
     {3, 2, 2, 20, 80, 32, 32},
     [](Draft& d) {
       causal(d);
       d.options().query_offset = {-5, 17, 200};
     }},
    {"window both sides", {1, 2, 2, 90, 120, 32, 32}, [](Draft& d) { d.window(17, 9); }},
    {"window left, causal",
     {1, 2, 2, 150, 150, 32, 32},
     [](Draft& d) {
       causal(d);
       d.window(64, -1);
     }},
    {"window right", {1, 2, 2, 60, 100, 32, 32}, [](Draft& d) { d.window(-1, 3); }},
    {"key lengths",
     {3, 2, 2, 30, 100, 32, 32},
     [](Draft& d) { d.options().key_lengths = {100, 0, 37}; }},
    {"key begin and lengths, causal",
     {3, 2, 2, 30, 100, 32, 32},
     [](Draft& d) {
       causal(d);
       d.options().key_begin = {0, 60, 11};
       d.options().key_lengths = {64, 40, 70};
     }},
    {"query lengths with sinks",
     {2, 2, 2, 40, 50, 32, 32},
     [](Draft& d) {
       d.options().query_lengths = {40, 7};
       d.options().sinks = {0.25f, kNoSink};
     }},
    {"softcap",
     {1, 2, 2, 40, 90, 64, 64},
     [](Draft& d) {
       d.options().softcap = 1.5f;
       d.options().scale = 0.75;
     }},
    {"softcap, causal",
     {1, 2, 2, 70, 70, 64, 64},
     [](Draft& d) {
       causal(d);
       d.options().softcap = 30.0f;
     }},
    {"large scale", {1, 2, 2, 30, 90, 64, 64}, [](Draft& d) { d.options().scale = 24.0; }},
    {"scale 0", {1, 2, 2, 30, 90, 64, 64}, [](Draft& d) { d.options().scale = 0.0; }},
    {"negative scale", {1, 2, 2, 30, 90, 64, 64}, [](Draft& d) { d.options().scale = -1.0; }},
    {"sinks",
     {1, 4, 4, 30, 90, 32, 32},
     [](Draft& d) { d.options().sinks = {0.5f, kNoSink, -3.25f, 12.0f}; }},
    {"ALiBi 8 heads, causal",
     {1, 8, 8, 40, 80, 16, 16},
     [](Draft& d) {
       causal(d);
       d.options().alibi_slopes = alibi_slopes(8);
     }},
    {"ALiBi 6 heads",
     {1, 6, 6, 30, 90, 16, 16},
     [](Draft& d) { d.options().alibi_slopes = alibi_slopes(6); }},
    {"bias", {2, 2, 2, 30, 70, 32, 32}, [](Draft& d) { d.bias({2, 2, 30, 70}); }},
    {"bias broadcast", {2, 2, 2, 30, 70, 32, 32}, [](Draft& d) { d.bias({2, 1, 70}); }},
    {"mask", {2, 2, 2, 30, 130, 32, 32}, [](Draft& d) { d.mask({2, 1, 30, 130}, 0.5); }},
    {"sparse mask, some rows hidden",
     {1, 2, 2, 50, 70, 32, 32},
     [](Draft& d) { d.mask({50, 70}, 0.02); }},
    {"mask, bias and causal",
     {1, 2, 2, 60, 80, 32, 32},
     [](Draft& d) {
       causal(d);
       d.mask({60, 80}, 0.7);
       d.bias({2, 1, 80});
     }},
    {"packed",
     {1, 2, 2, 60, 75, 32, 32},
     [](Draft& d) { d.pack({0, 10, 10, 47, 60}, {0, 25, 40, 41, 75}); }},
    {"packed, causal, GQA, ALiBi",
     {1, 4, 2, 60, 60, 32, 32},
     [](Draft& d) {
       causal(d);
       d.pack({0, 33, 34, 60}, {0, 33, 34, 60});
       d.options().alibi_slopes = alibi_slopes(4);
     }},
    {"float16", {1, 2, 2, 40, 80, 64, 64}, nullptr, kF16, kF16, kF16},
    {"float16, causal, float16 bias",
     {1, 2, 2, 40, 40, 32, 32},
     [](Draft& d) {
       causal(d);
       d.bias({40, 40}, kF16);
     },
     kF16,
     kF16,
     kF16},
    {"bfloat16 in float32",
     {1, 2, 2, 40, 80, 64, 64},
     [](Draft& d) { d.options().arithmetic = Arithmetic::kFloat32; },
     kBF16,
     kBF16,
     kBF16},
    {"float32 queries, float16 keys, bfloat16 values",
     {1, 4, 2, 20, 90, 32, 48},
     causal,
     kF32,
     kF16,
     kBF16},
    {"two spans", {1, 1, 1, 20, 1100, 32, 32}, nullptr},
    {"three spans, causal", {1, 1, 1, 40, 2100, 16, 16}, causal},
    {"five spans, few heads", {1, 1, 1, 6, 5000, 16, 16}, nullptr},
    {"span edge 1024", {1, 1, 1, 10, 1024, 32, 32}, nullptr},
    {"spans and a window", {1, 1, 1, 30, 2500, 16, 16}, [](Draft& d) { d.window(1030, 700); }},
    {"decode 1 query, d 64", {1, 4, 4, 1, 1500, 64, 64}, causal},
    {"decode 1 query, GQA 8:1, d 128", {1, 8, 1, 1, 700, 128, 128}, causal},
    {"decode 2 queries", {2, 2, 2, 2, 300, 64, 64}, causal},
    {"decode 3 queries, sinks",
     {1, 2, 2, 3, 2300, 32, 32},
     [](Draft& d) {
       causal(d);
       d.options().sinks = {1.0f, 2.0f};
     }},
    {"decode 4 queries, lengths",
     {2, 2, 1, 4, 600, 48, 48},
     [](Draft& d) {
       causal(d);
       d.options().key_lengths = {600, 333};
     }},
    {"decode float16 cache", {1, 4, 2, 1, 1300, 64, 64}, causal, kF32, kF16, kF16},
    {"weights", {2, 3, 3, 30, 90, 32, 32}, [](Draft& d) { d.select({0, 2}, {0, 7, 29}); }},
    {"weights of all rows, causal, sinks",
     {1, 2, 2, 20, 150, 32, 32},
     [](Draft& d) {
       causal(d);
       d.options().sinks = {0.0f, 1.0f};
       d.select({}, {});
     }},
    {"everything at once",
     {2, 4, 2, 50, 1200, 40, 24},
     [](Draft& d) {
       causal(d);
       d.window(900, -1);
       d.options().softcap = 4.0f;
       d.options().scale = 0.5;
       d.options().alibi_slopes = alibi_slopes(4);
       d.options().sinks = {0.5f, -1.0f, kNoSink, 2.0f};
       d.options().key_begin = {3, 0};
       d.options().key_lengths = {1190, 1100};
       d.options().query_lengths = {50, 31};
       d.mask({50, 1200}, 0.9);
       d.bias({4, 1, 1});
       d.select({1}, {0, 30, 49});
     }},
};

void add_inputs(Draft& draft) {
  const Spec& spec = draft.spec;
  const Shape& s = spec.shape;
  const bool packed = !draft.options().query_cu_seqlens.empty();
  const auto input = [&](DType dtype, std::int64_t heads, std::int64_t length, std::int64_t d) {
    const std::int64_t whole[] = {s.batch, heads, length, d}, flat[] = {length, heads, d};
    const std::span<const std::int64_t> shape =
        packed ? std::span<const std::int64_t>(flat) : std::span<const std::int64_t>(whole);
    return draft.keep(draw(draft.generator, dtype, shape));
  };
  AttentionInputs& inputs = draft.problem.inputs;
  inputs.query = input(spec.query, s.heads, s.queries, s.d_qk);
  inputs.key = input(spec.key, s.key_heads, s.keys, s.d_qk);
  inputs.value = input(spec.value, s.key_heads, s.keys, s.d_v);
}

void add_outputs(Draft& draft) {
  const Shape& s = draft.spec.shape;
  const bool packed = !draft.options().query_cu_seqlens.empty();
  const auto output = [&](DType dtype, std::vector<std::int64_t> shape) {
    Tensor tensor;
    check(allocate(dtype, shape, tensor));
    return draft.keep(tensor);
  };
  AttentionOutputs& outputs = draft.problem.outputs;
  outputs.out = output(draft.spec.query, output_shape(draft.problem.inputs, draft.options()));
  const std::vector<std::int64_t> rows = {s.batch, s.heads, s.queries};
  outputs.lse = output(kF32, packed ? std::vector<std::int64_t>{s.heads, s.queries} : rows);
  if (!draft.has_weights) return;
  const auto count = [](const std::vector<std::int64_t>& chosen, std::int64_t all) {
    return chosen.empty() ? all : static_cast<std::int64_t>(chosen.size());
  };
  outputs.selection = draft.weights;
  outputs.weights = output(kF32, {s.batch, count(draft.weights.heads, s.heads),
                                  count(draft.weights.rows, s.queries), s.keys});
}

}  // namespace

int golden_count() { return static_cast<int>(std::size(kSpecs)); }

GoldenProblem golden_problem(int index) {
  const Spec& spec = kSpecs[index];
  Draft draft{spec, random::Generator(static_cast<std::uint64_t>(index)), {}, {}};
  draft.problem.name = spec.name;
  if (spec.add != nullptr) spec.add(draft);
  add_inputs(draft);
  add_outputs(draft);
  return std::move(draft.problem);
}

std::uint64_t hash_of(const AttentionOutputs& outputs) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const MutableTensorView& view : {outputs.out, outputs.lse, outputs.weights}) {
    if (!view.defined()) continue;
    const auto* bytes = static_cast<const unsigned char*>(view.data);
    const std::size_t count = static_cast<std::size_t>(view.size()) * size_of(view.dtype);
    for (std::size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  }
  return hash;
}

}  // namespace qkv::app
