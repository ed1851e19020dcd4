#include "positions/rotary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "positions/text.h"
#include "problem/checks.h"
#include "simd/float_environment.h"
#include "simd/log.h"
#include "simd/power.h"
#include "simd/trig.h"
#include "simd/two_doubles.h"
#include "tensor/element.h"

namespace qkv {
namespace {

constexpr std::int64_t kMaxWhole = std::int64_t{1} << 53;  // whole numbers up to it are doubles
constexpr double kTwoPi = 0x1.921fb54442d18p+2;

// Numbers a divisor or a bound of turns can be.
bool is_positive(double x) { return x > 0 && x <= static_cast<double>(kMaxWhole); }

Status check_turns(const char* names, double less, double more) {
  if (is_positive(less) && is_positive(more) && less < more) return {};
  return invalid_argument(std::string(names) + ": " + number_text(less) + " and " +
                          number_text(more) +
                          " are no range of turns; pass two numbers above 0, the less one first");
}

Status check_scaling(const RotaryOptions& o) {
  if (o.scaling < RotaryScaling::kNone || o.scaling > RotaryScaling::kLlama3) {
    return invalid_argument("scaling: " + std::to_string(static_cast<int>(o.scaling)) +
                            " is unknown; pass a value of RotaryScaling");
  }
  if (!(std::isfinite(o.factor) && o.factor >= 1)) {
    return invalid_argument("factor: " + number_text(o.factor) +
                            " is out of range; pass a finite number of at least 1");
  }
  if (o.scaling == RotaryScaling::kNone && o.factor != 1) {
    return invalid_argument("factor: " + number_text(o.factor) +
                            " without a scaling has no effect; name one, or pass 1");
  }
  const bool by_parts = o.scaling == RotaryScaling::kYarn || o.scaling == RotaryScaling::kLlama3;
  if (!by_parts) return {};
  if (o.original_length < 1 || o.original_length > kMaxWhole) {
    return invalid_argument("original_length: " + std::to_string(o.original_length) +
                            " is no number of tokens to scale from; pass that of the training");
  }
  if (o.scaling == RotaryScaling::kLlama3) {
    return check_turns("low_factor, high_factor", o.low_factor, o.high_factor);
  }
  if (!(o.base > 1)) {
    return invalid_argument("base: " + number_text(o.base) +
                            " gives all pairs one frequency; YaRN needs more than 1, as 10000");
  }
  return check_turns("beta_slow, beta_fast", o.beta_slow, o.beta_fast);
}

// Where f_i changes into f_i / factor: 0 below the pair `begin`, 1 from `end` on.
struct Ramp {
  double begin, end;
  double at(double i) const { return std::clamp((i - begin) / (end - begin), 0.0, 1.0); }
};

// The pairs that turn beta_fast and beta_slow times, as the paper's program finds them.
Ramp yarn_ramp(double r, const RotaryOptions& o) {
  const auto pair_of = [&](double turns) {
    const double wave = static_cast<double>(o.original_length) / (turns * kTwoPi);
    return r * log(wave) / (2 * log(o.base));
  };
  double begin = pair_of(o.beta_fast), end = pair_of(o.beta_slow);
  if (o.whole_pairs) {
    begin = std::floor(begin);
    end = std::ceil(end);
  }
  end = std::min(end, r - 1);
  begin = std::min(std::max(begin, 0.0), end);
  return {begin, begin == end ? end + 0.001 : end};
}

double scaled(double f, double i, const Ramp& ramp, const RotaryOptions& o) {
  switch (o.scaling) {
    case RotaryScaling::kLinear:
      return f / o.factor;
    case RotaryScaling::kYarn: {
      const double share = ramp.at(i);
      return f / o.factor * share + f * (1 - share);
    }
    case RotaryScaling::kLlama3: {
      const double turns = static_cast<double>(o.original_length) * f / kTwoPi;
      const double share =
          std::clamp((turns - o.low_factor) / (o.high_factor - o.low_factor), 0.0, 1.0);
      return f / o.factor * (1 - share) + f * share;
    }
    default:
      return f;
  }
}

Status check_table(const char* name, const MutableTensorView& table, const TensorView& positions,
                   std::int64_t pairs) {
  if (!table.defined()) return invalid_argument(std::string(name) + ": absent; pass a tensor");
  if (Status s = check_view(name, table); !s.ok()) return s;
  TensorView wanted = positions;
  wanted.extents[wanted.rank++] = pairs;
  if (shape_string(table) != shape_string(wanted) || table.dtype != DType::kFloat32) {
    return invalid_argument(std::string(name) + ": " + describe(table) + " for positions " +
                            shape_string(positions) + " and " + std::to_string(pairs) +
                            " frequencies; it must be float32 " + shape_string(wanted));
  }
  return {};
}

// [.., L] as [B, L].
TensorView to_matrix(TensorView positions) {
  if (positions.rank == 2) return positions;
  positions.extents[1] = positions.extents[0];
  positions.strides[1] = positions.strides[0];
  positions.extents[0] = 1;
  positions.strides[0] = 0;
  positions.rank = 2;
  return positions;
}

}  // namespace

Status check_rotary(std::int64_t r, const RotaryOptions& options) {
  if (r < 2 || r > kMaxWhole || r % 2 != 0) {
    return invalid_argument("r: " + std::to_string(r) +
                            " columns don't make pairs; pass an even number from 2 to 2^53");
  }
  if (!(std::isfinite(options.base) && options.base >= 1)) {
    return invalid_argument("base: " + number_text(options.base) +
                            " is out of range; pass a finite number of at least 1, as 10000");
  }
  return check_scaling(options);
}

Status fill_rotary_frequencies(std::int64_t r, const RotaryOptions& options,
                               std::span<double> frequencies, double& magnitude) {
  if (Status s = check_rotary(r, options); !s.ok()) return s;
  if (static_cast<std::int64_t>(frequencies.size()) != r / 2) {
    return invalid_argument("frequencies: " + std::to_string(frequencies.size()) +
                            " places for r = " + std::to_string(r) + "; pass " +
                            std::to_string(r / 2) + ", one a pair");
  }
  const FloatEnvironment environment;
  const auto columns = static_cast<double>(r);
  const bool yarn = options.scaling == RotaryScaling::kYarn;
  const Ramp ramp = yarn ? yarn_ramp(columns, options) : Ramp{0, 1};
  for (std::int64_t i = 0; i < r / 2; ++i) {
    const auto exponent = static_cast<double>(-2 * i);
    double f = power(options.base, exponent, columns);
    // (base factor^(r / (r - 2)))^(-2 i / r). With r = 2 there is pair 0 alone, and f = 1.
    if (options.scaling == RotaryScaling::kNtk && r > 2) {
      f *= power(options.factor, exponent, columns - 2);
    }
    frequencies[static_cast<std::size_t>(i)] = scaled(f, static_cast<double>(i), ramp, options);
  }
  magnitude = yarn ? 0.1 * log(options.factor) + 1 : 1.0;
  return {};
}

Status check_positions(const TensorView& positions) {
  if (!positions.defined()) return invalid_argument("positions: absent; pass a tensor");
  if (Status s = check_view("positions", positions); !s.ok()) return s;
  if (positions.dtype != DType::kInt64 || positions.rank < 1 || positions.rank > 2) {
    return invalid_argument("positions: " + describe(positions) +
                            " is no list of positions; pass int64 [tokens] or [batch, tokens]");
  }
  if (Status s = check_pointer("positions", positions); !s.ok()) return s;
  const TensorView all = to_matrix(positions);
  for (std::int64_t b = 0; b < all.extents[0]; ++b) {
    for (std::int64_t t = 0; t < all.extents[1]; ++t) {
      const std::int64_t x =
          static_cast<const std::int64_t*>(all.data)[b * all.strides[0] + t * all.strides[1]];
      if (x < -kMaxWhole || x > kMaxWhole) {
        return invalid_argument("positions: token " + std::to_string(t) + " of sequence " +
                                std::to_string(b) + " is at " + std::to_string(x) +
                                ", which double can't hold; stay between -2^53 and 2^53");
      }
    }
  }
  return {};
}

Status fill_rotary_tables(const TensorView& positions, std::span<const double> frequencies,
                          double magnitude, const MutableTensorView& cosines,
                          const MutableTensorView& sines) {
  const FloatEnvironment environment;
  if (Status s = check_positions(positions); !s.ok()) return s;
  const auto pairs = static_cast<std::int64_t>(frequencies.size());
  if (Status s = check_table("cosines", cosines, positions, pairs); !s.ok()) return s;
  if (Status s = check_table("sines", sines, positions, pairs); !s.ok()) return s;
  const NamedView inputs[] = {{"positions", positions},
                              {"frequencies", TensorView(frequencies.data(), {pairs})}};
  const NamedView outputs[] = {{"cosines", cosines}, {"sines", sines}};
  if (Status s = check_memory(inputs, outputs); !s.ok()) return s;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    // What leaves the products below far from overflow.
    if (!(std::abs(frequencies[i]) <= static_cast<double>(kMaxWhole))) {
      return invalid_argument("frequencies: entry " + std::to_string(i) + " is " +
                              number_text(frequencies[i]) + "; pass numbers of at most 2^53");
    }
  }
  if (!(std::abs(magnitude) <= double{std::numeric_limits<float>::max()})) {
    return invalid_argument("magnitude: " + number_text(magnitude) +
                            " is beyond float32; pass 1, or a number near it");
  }
  const TensorView all = to_matrix(positions);
  const MutableTensorView to_cosines = to_rank4(cosines), to_sines = to_rank4(sines);
  for (std::int64_t b = 0; b < all.extents[0]; ++b) {
    for (std::int64_t t = 0; t < all.extents[1]; ++t) {
      const auto x = static_cast<double>(
          static_cast<const std::int64_t*>(all.data)[b * all.strides[0] + t * all.strides[1]]);
      for (std::int64_t i = 0; i < pairs; ++i) {
        // The sine and cosine of a sum: what rounding takes off the angle is an angle too.
        const TwoDoubles angle = exact_product(x, frequencies[static_cast<std::size_t>(i)]);
        const SinCos most = sin_cos(angle.high), rest = sin_cos(angle.low);
        const double sine = most.sin * rest.cos + most.cos * rest.sin;
        const double cosine = most.cos * rest.cos - most.sin * rest.sin;
        store_result(to_cosines, offset_of(to_cosines, 0, b, t, i), cosine * magnitude);
        store_result(to_sines, offset_of(to_sines, 0, b, t, i), sine * magnitude);
      }
    }
  }
  return {};
}

}  // namespace qkv
