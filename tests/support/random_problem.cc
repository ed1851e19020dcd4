#include "support/random_problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "tensor/element.h"

namespace qkv::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr auto kPattern = std::byte{0xa5};

void store_element(const MutableTensorView& view, std::int64_t offset, float value) {
  switch (view.dtype) {
    case DType::kFloat16:
      static_cast<std::uint16_t*>(view.data)[offset] = float_to_float16(value);
      return;
    case DType::kBFloat16:
      static_cast<std::uint16_t*>(view.data)[offset] = float_to_bfloat16(value);
      return;
    default:
      static_cast<float*>(view.data)[offset] = value;
  }
}

template <class F>
void for_each_element(const MutableTensorView& view, F f) {
  MutableTensorView v = view;
  while (v.rank < kMaxRank) {
    v.extents[v.rank] = 1;
    v.strides[v.rank] = 0;
    ++v.rank;
  }
  for (std::int64_t a = 0; a < v.extents[0]; ++a)
    for (std::int64_t b = 0; b < v.extents[1]; ++b)
      for (std::int64_t c = 0; c < v.extents[2]; ++c)
        for (std::int64_t d = 0; d < v.extents[3]; ++d) f(offset_of(v, a, b, c, d));
}

}  // namespace

Limits small_limits() {
  Limits limits;
  limits.query_lengths = {0,  1,  2,  3,  4,  5,  7,  8,  11, 12, 13, 16,
                          17, 23, 24, 25, 31, 33, 47, 48, 49, 63, 65};
  for (std::int64_t length : {0, 1, 2, 7, 8, 9, 30, 31, 32, 33, 34})
    limits.key_lengths.push_back(length);
  for (int n = 0; n < 4; ++n) {  // more often, so that most rows see keys
    for (std::int64_t length : {62, 63, 64, 65, 66, 97, 100, 127, 128, 129, 191, 193, 257}) {
      limits.key_lengths.push_back(length);
    }
  }
  limits.sizes = {0,  1,  2,  3,  4,  5,  7,  8,  9,  15,  16, 17,
                  31, 32, 33, 40, 63, 64, 65, 80, 96, 100, 128};
  return limits;
}

Limits span_crossing_limits() {
  Limits limits;
  limits.query_lengths = {1, 2, 3, 4, 5, 9, 17};
  limits.key_lengths = {1025, 1026, 1055, 1056, 1057, 1087, 1088, 1089, 1100, 1500, 2047,
                        2048, 2049, 2111, 2112, 2113, 3071, 3072, 3073, 3200, 4097};
  limits.sizes = {1, 3, 4, 8, 15, 16, 20, 31, 32, 33, 36};
  limits.max_batch = 2;
  limits.special_values = false;
  return limits;
}

RandomProblem::RandomProblem(std::uint64_t seed, const Limits& limits)
    : seed_(seed), generator_(seed) {
  draw_shapes(limits);
  draw_inputs(limits);
  draw_lengths();
  draw_positions();
  draw_masks();
  draw_scores();
  draw_outputs();
  const Status status = validate(problem_);
  if (!status.ok()) throw std::logic_error(description() + ": " + status.message());
}

int RandomProblem::level(const std::string& factor, const std::vector<std::string>& names) {
  const std::int64_t index = pick(static_cast<std::int64_t>(names.size()));
  levels_[factor] = names[static_cast<std::size_t>(index)];
  return static_cast<int>(index);
}

std::string RandomProblem::description() const {
  std::string text = "seed " + std::to_string(seed_) + ": query " +
                     shape_string(problem_.inputs.query) + " key " +
                     shape_string(problem_.inputs.key) + " d_v " + std::to_string(d_v_);
  for (const auto& [factor, name] : levels_) text += ", " + factor + "=" + name;
  return text;
}

void RandomProblem::draw_shapes(const Limits& limits) {
  constexpr std::int64_t kHeads[][2] = {{1, 1}, {2, 2}, {2, 1}, {4, 2}, {3, 1}, {6, 2}};
  const int heads = level("heads", {"1/1", "2/2", "2/1", "4/2", "3/1", "6/2"});
  query_heads_ = kHeads[heads][0];
  key_heads_ = kHeads[heads][1];
  packed_ = level("packing", {"padded", "padded", "packed"}) == 2;
  batch_ = 1 + pick(limits.max_batch);
  queries_ = pick(limits.query_lengths);
  keys_ = pick(limits.key_lengths);
  d_qk_ = pick(limits.sizes);
  d_v_ = level("d_v", {"d_qk", "other"}) == 0 ? d_qk_ : pick(limits.sizes);
}

// Layouts: 0 row-major, 1 last two axes' order kept but length and heads exchanged in memory,
// 2 rows with gaps, 3 rows reversed, 4 every second column.
MutableTensorView RandomProblem::new_tensor(DType dtype, std::vector<std::int64_t> shape,
                                            int layout) {
  const int rank = static_cast<int>(shape.size());
  std::vector<std::int64_t> allocated = shape;
  if (layout == 1 && rank >= 3) std::swap(allocated[rank - 3], allocated[rank - 2]);
  if (layout == 2) allocated[rank - 1] += 3;
  if (layout == 4) allocated[rank - 1] *= 2;
  std::size_t elements = 1;
  for (std::int64_t extent : allocated) elements *= static_cast<std::size_t>(extent);
  memory_.push_back(
      std::make_unique<std::vector<std::byte>>(elements * size_of(dtype) + 64, kPattern));
  MutableTensorView view(memory_.back()->data(), dtype, std::span<const std::int64_t>(allocated));
  if (layout == 1 && rank >= 3) view = view.transposed(rank - 3, rank - 2);
  if (layout == 4) view.strides[rank - 1] *= 2;
  for (int axis = 0; axis < rank; ++axis) view.extents[axis] = shape[axis];
  if (layout == 3 && rank >= 2 && view.extents[rank - 2] > 0) {
    view = view.slice(rank - 2, view.extents[rank - 2] - 1, view.extents[rank - 2]);
    view.extents[rank - 2] = shape[rank - 2];
    view.strides[rank - 2] = -view.strides[rank - 2];
  }
  return view;
}

// special: 0 none, 1 a few NaN, Inf, -0, subnormals; 2 subnormals mostly; 3 all equal and huge; 4 a
// few so large that float32 overflows where double does not.
void RandomProblem::fill(const MutableTensorView& view, double deviation, int special,
                         double spread) {
  for_each_element(view, [&](std::int64_t offset) {
    auto x = static_cast<float>(generator_.normal(0.0, deviation));
    if (spread > 0) x = static_cast<float>(x * std::exp2(std::floor(spread * generator_.normal())));
    if (special == 1 && pick(29) == 0) {
      const float values[] = {kNaN, kInf, -kInf, -0.0f, 0.0f, 1e-41f, -1e-45f};
      x = values[pick(7)];
    }
    if (special == 2) x *= 3e-38f;
    if (special == 3) x = 1e4f;
    if (special == 4 && pick(29) == 0) x = pick(2) == 0 ? 3e38f : -1e30f;
    store_element(view, offset, x);
  });
}

void RandomProblem::draw_inputs(const Limits& limits) {
  constexpr DType kTypes[][3] = {{DType::kFloat32, DType::kFloat32, DType::kFloat32},
                                 {DType::kFloat32, DType::kFloat32, DType::kFloat32},
                                 {DType::kFloat16, DType::kFloat16, DType::kFloat16},
                                 {DType::kBFloat16, DType::kBFloat16, DType::kBFloat16},
                                 {DType::kFloat32, DType::kBFloat16, DType::kFloat16}};
  const int types = level("types", {"f32", "f32", "f16", "bf16", "mixed"});
  if (types == 3) problem_.options.arithmetic = Arithmetic::kFloat32;
  const std::vector<std::string> layouts = {"rows", "blhd", "gaps", "reversed", "every second"};
  const int query_layout = level("query layout", layouts),
            key_layout = level("key layout", layouts),
            value_layout = level("value layout", layouts);
  const auto shape = [&](std::int64_t heads, std::int64_t length, std::int64_t d) {
    return packed_ ? std::vector<std::int64_t>{batch_ * length, heads, d}
                   : std::vector<std::int64_t>{batch_, heads, length, d};
  };
  MutableTensorView query =
      new_tensor(kTypes[types][0], shape(query_heads_, queries_, d_qk_), query_layout);
  MutableTensorView key = new_tensor(kTypes[types][1], shape(key_heads_, keys_, d_qk_), key_layout);
  MutableTensorView value =
      new_tensor(kTypes[types][2], shape(key_heads_, keys_, d_v_), value_layout);
  const int values =
      limits.special_values
          ? level("values", {"normal",  "normal",    "normal",     "normal",     "normal", "normal",
                             "normal",  "normal",    "normal",     "normal",     "normal", "normal",
                             "normal",  "normal",    "normal",     "sharp",      "sharp",  "sharp",
                             "special", "subnormal", "huge equal", "overflowing"})
          : level("values", {"normal", "sharp"});
  const double sharp = levels_["values"] == "sharp" ? 6.0 : 1.0;
  const int special = std::max(0, values - 17);
  const auto sometimes = [&] { return special % 3 == 1 && pick(2) == 0 ? 0 : special; };
  fill(query, sharp, sometimes(), 0);
  fill(key, sharp, sometimes(), 0);
  fill(value, 1.0, special == 3 ? 0 : special, special == 0 ? 1.0 : 0);
  problem_.inputs = {query, key, value};
}

void RandomProblem::draw_lengths() {
  AttentionOptions& o = problem_.options;
  if (packed_) {
    // Cuts anywhere, empty sequences included.
    for (auto* ends : {&o.query_cu_seqlens, &o.key_cu_seqlens}) {
      const std::int64_t total = batch_ * (ends == &o.query_cu_seqlens ? queries_ : keys_);
      for (std::int64_t b = 1; b < batch_; ++b) ends->push_back(pick(total + 1));
      std::sort(ends->begin(), ends->end());
      ends->insert(ends->begin(), 0);
      ends->push_back(total);
    }
    levels_["lengths"] = "cu_seqlens";
    return;
  }
  const int kind = level("lengths", {"full", "full", "full", "key", "key begin", "query"});
  const auto mostly = [&](std::int64_t length) {
    return seldom() ? pick(length + 1) : length - pick(length / 8 + 1);
  };
  for (std::int64_t b = 0; b < batch_ && kind >= 3; ++b) {
    if (kind == 3) o.key_lengths.push_back(mostly(keys_));
    if (kind == 4) {
      o.key_begin.push_back(pick(keys_ / 4 + 1));
      o.key_lengths.push_back(mostly(keys_ - o.key_begin.back()));
    }
    if (kind == 5) o.query_lengths.push_back(mostly(queries_));
  }
}

// Mostly queries among the last keys, seldom anywhere.
std::int64_t RandomProblem::random_offset() {
  if (seldom()) return pick(2 * keys_ + 3) - keys_ / 2;
  return std::max<std::int64_t>(0, keys_ - queries_ - pick(keys_ / 4 + 1));
}

void RandomProblem::draw_positions() {
  AttentionOptions& o = problem_.options;
  o.causal = level("causal", {"no", "yes"}) == 1;
  const int window = level("window", {"none", "none", "left", "right", "both"});
  if (window == 2 || window == 4) {
    o.window.left = seldom() ? pick(3) : keys_ / 3 + pick(keys_ + 2);
  }
  if (window == 3 || window == 4) o.window.right = pick(keys_ / 2 + 2);
  const int position = level("position", {"bottom-right", "top-left", "offset", "offsets"});
  if (position == 1) o.alignment = Alignment::kTopLeft;
  if (position == 2) o.query_offset = {random_offset()};
  for (std::int64_t b = 0; b < batch_ && position == 3; ++b) {
    o.query_offset.push_back(random_offset());
  }
}

void RandomProblem::draw_masks() {
  AttentionOptions& o = problem_.options;
  const auto broadcast_shape = [&] {
    std::vector<std::int64_t> shape = {batch_, query_heads_, queries_, keys_};
    for (std::int64_t& extent : shape) {
      if (pick(3) == 0) extent = 1;
    }
    if (pick(3) == 0) shape.erase(shape.begin(), shape.begin() + 1 + pick(2));
    return shape;
  };
  const int mask =
      packed_ ? (levels_["mask"] = "none", 0) : level("mask", {"none", "none", "bool", "float"});
  if (mask == 2) {
    const auto layout = static_cast<int>(pick(5));
    MutableTensorView view = new_tensor(DType::kBool, broadcast_shape(), layout);
    const std::int64_t hidden = view.extents[view.rank - 1] == 1 ? 1 : 3 + pick(6);
    for_each_element(view, [&](std::int64_t offset) {
      static_cast<std::uint8_t*>(view.data)[offset] =
          pick(12) < hidden ? std::uint8_t{0} : static_cast<std::uint8_t>(1 + pick(255));
    });
    o.mask = view;
  }
  const int bias = packed_ || mask == 3 ? (levels_["bias"] = "none", 0)
                                        : level("bias", {"none", "none", "f32", "f16", "bf16"});
  if (bias >= 2 || mask == 3) {
    constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat32, DType::kFloat32, DType::kFloat16,
                                DType::kBFloat16};
    const auto layout = static_cast<int>(pick(5));
    MutableTensorView view = new_tensor(kTypes[mask == 3 ? 0 : bias], broadcast_shape(), layout);
    fill(view, 1.0, 0, 0);
    for_each_element(view, [&](std::int64_t offset) {
      const bool often = mask == 3 && view.extents[view.rank - 1] > 1;
      if (pick(often ? 3 : 17) == 0) store_element(view, offset, -kInf);
      if (levels_["values"] == "special" && pick(61) == 0) store_element(view, offset, kNaN);
      if (levels_["values"] == "special" && pick(61) == 0) store_element(view, offset, kInf);
    });
    (mask == 3 ? o.mask : o.bias) = view;
  }
  const int mod = level("mask_mod", {"none", "none", "stripes", "document and predicate"});
  if (mod == 2) {
    const std::int64_t modulus = 2 + pick(5);
    o.mask_mod =
        mask_mod([modulus](std::int64_t b, std::int64_t h, std::int64_t p, std::int64_t j) {
          return (((b + h + p + j) % modulus) + modulus) % modulus != 0;
        });
  } else if (mod == 3) {
    const std::int64_t least = seldom() ? 1 : keys_ / 2 + 1;
    const std::int64_t size = least + pick(keys_ + 1);
    const auto document = [size](std::int64_t x) {
      return x >= 0 ? x / size : -1 - (-1 - x) / size;
    };
    o.mask_mod = mask_mod([document](std::int64_t, std::int64_t, std::int64_t p, std::int64_t j) {
      return document(p) == document(j);
    });
    o.block_predicate = [document](const MaskBlock& block) {
      const std::int64_t p0 = document(block.first_position), p1 = document(block.last_position);
      const std::int64_t j0 = document(block.first_key), j1 = document(block.last_key);
      if (p1 < j0 || j1 < p0) return Visibility::kHidden;
      return p0 == p1 && j0 == j1 ? Visibility::kVisible : Visibility::kMixed;
    };
  }
}

void RandomProblem::draw_scores() {
  AttentionOptions& o = problem_.options;
  switch (level("scale", {"default", "default", "given", "zero", "negative"})) {
    case 2:
      o.scale = generator_.random();
      break;
    case 3:
      o.scale = 0.0;
      break;
    case 4:
      o.scale = -0.3;
      break;
    default:
      break;
  }
  if (level("softcap", {"none", "none", "given"}) == 2) {
    o.softcap = static_cast<float>(0.5 + 20 * generator_.random());
  }
  if (level("score_mod", {"none", "none", "given"}) == 2) {
    // Powers of two and small integers: float32 and double agree but for the score itself.
    const auto f = [](auto s, std::int64_t b, std::int64_t h, std::int64_t p, std::int64_t j) {
      const std::int64_t step = (((p + 2 * j + h + b) % 5) + 5) % 5;
      return s * decltype(s)(step == 0 ? 0.5 : 1) + decltype(s)(step) * decltype(s)(0.25);
    };
    o.score_mod = score_mod(f);
    score_mod64_ = f;
    const auto derivative = [](auto s, std::int64_t b, std::int64_t h, std::int64_t p,
                               std::int64_t j) {
      return decltype(s)((p + 2 * j + h + b) % 5 == 0 ? 0.5 : 1);
    };
    o.score_mod_gradient = score_mod_gradient(derivative);
    derivative64_ = derivative;
  }
  const int alibi = level("alibi", {"none", "none", "paper", "given"});
  if (alibi == 2) o.alibi_slopes = alibi_slopes(query_heads_);
  if (alibi == 3) {
    for (std::int64_t h = 0; h < query_heads_; ++h) {
      o.alibi_slopes.push_back(static_cast<float>(generator_.normal()));
    }
  }
  // From a stream of its own, so that the other draws of a seed don't hang on it. Seldom all, which
  // leaves nothing but zeros.
  random::Generator own(seed_ + 0x9e3779b97f4a7c15);
  const std::int64_t dropout = own.integers(0, 36);
  levels_["dropout"] = dropout < 30 ? "none" : dropout < 34 ? "some" : "streams";
  if (dropout >= 30) {
    o.dropout = Dropout{dropout == 30 ? 1.0 : 0.7 * own.random(), seed_ * 0x9e3779b97f4a7c15, {}};
    for (std::int64_t b = 0; b < batch_ && dropout >= 34; ++b) {
      o.dropout->streams.push_back(own.integers(-3, 997));
    }
  }
  const int sinks = level("sinks", {"none", "none", "given", "some -inf"});
  for (std::int64_t h = 0; h < query_heads_ && sinks >= 2; ++h) {
    o.sinks.push_back(sinks == 3 && pick(2) == 0 ? -kInf
                                                 : static_cast<float>(generator_.normal(0, 4)));
  }
}

void RandomProblem::draw_outputs() {
  AttentionOutputs& out = problem_.outputs;
  const DType query_type = problem_.inputs.query.dtype;
  const DType type = level("out type", {"f32", "input's"}) == 0 ? DType::kFloat32 : query_type;
  const std::int64_t rows = packed_ ? batch_ * queries_ : queries_;
  out.out = new_tensor(type,
                       packed_ ? std::vector{rows, query_heads_, d_v_}
                               : std::vector{batch_, query_heads_, rows, d_v_},
                       level("out layout", {"rows", "blhd", "gaps", "reversed", "every second"}));
  note_output();
  const bool lse = level("lse", {"no", "yes", "yes"}) != 0;
  const bool row_numbers = level("row_max and row_sum", {"no", "yes"}) != 0;
  const std::pair<MutableTensorView*, bool> numbers[] = {
      {&out.lse, lse}, {&out.row_max, row_numbers}, {&out.row_sum, row_numbers}};
  for (const auto& [view, asked] : numbers) {
    if (!asked) continue;
    *view = new_tensor(
        DType::kFloat32,
        packed_ ? std::vector{query_heads_, rows} : std::vector{batch_, query_heads_, rows},
        static_cast<int>(pick(5)));
    note_output();
  }
  const int weights = level("weights", {"none", "none", "some", "all"});
  if (weights < 2) return;
  std::int64_t heads = query_heads_, chosen_rows = rows;
  if (weights == 2) {
    heads = 1 + pick(query_heads_);
    chosen_rows = rows == 0 ? 0 : 1 + pick(3);
    for (std::int64_t n = 0; n < heads; ++n) out.selection.heads.push_back(pick(query_heads_));
    for (std::int64_t n = 0; n < chosen_rows; ++n) out.selection.rows.push_back(pick(rows));
  }
  const std::int64_t columns = packed_ ? batch_ * keys_ : keys_;
  out.weights = new_tensor(type,
                           packed_ ? std::vector{heads, chosen_rows, columns}
                                   : std::vector{batch_, heads, chosen_rows, columns},
                           static_cast<int>(pick(5)));
  note_output();
}

void RandomProblem::clear_outputs() {
  for (std::size_t n : outputs_) std::fill(memory_[n]->begin(), memory_[n]->end(), kPattern);
}

std::vector<std::byte> RandomProblem::output_bytes() const {
  std::vector<std::byte> bytes;
  for (std::size_t n : outputs_) bytes.insert(bytes.end(), memory_[n]->begin(), memory_[n]->end());
  return bytes;
}

void Coverage::add(const std::map<std::string, std::string>& levels) {
  for (auto a = levels.begin(); a != levels.end(); ++a) {
    ++seen_[a->first][a->second];
    for (auto b = std::next(a); b != levels.end(); ++b) {
      ++pairs_[{a->first + "=" + a->second, b->first + "=" + b->second}];
    }
  }
}

double Coverage::share() const {
  std::int64_t possible = 0;
  for (auto a = seen_.begin(); a != seen_.end(); ++a) {
    for (auto b = std::next(a); b != seen_.end(); ++b) {
      possible += static_cast<std::int64_t>(a->second.size() * b->second.size());
    }
  }
  return static_cast<double>(pairs_.size()) /
         static_cast<double>(std::max<std::int64_t>(1, possible));
}

std::string Coverage::table() const {
  std::string text = "pairs of option levels that occurred together, of those possible:\n";
  for (auto a = seen_.begin(); a != seen_.end(); ++a) {
    std::int64_t possible = 0, met = 0;
    std::string missing;
    for (auto b = seen_.begin(); b != seen_.end(); ++b) {
      if (a == b) continue;
      for (const auto& [level_a, count_a] : a->second) {
        for (const auto& [level_b, count_b] : b->second) {
          std::string first = a->first + "=" + level_a, second = b->first + "=" + level_b;
          if (b->first < a->first) std::swap(first, second);
          ++possible;
          if (pairs_.count({first, second}) != 0)
            ++met;
          else
            missing += " [" + first + ", " + second + "]";
        }
      }
    }
    text += "  " + a->first + std::string(a->first.size() < 14 ? 14 - a->first.size() : 1, ' ') +
            std::to_string(met) + " / " + std::to_string(possible) +
            (missing.empty() ? "" : "  missing:" + missing) + "\n";
  }
  return text;
}

}  // namespace qkv::test
