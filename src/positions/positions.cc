#include "positions/positions.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "positions/text.h"
#include "problem/checks.h"
#include "problem/overlap.h"
#include "simd/float_environment.h"
#include "simd/power.h"
#include "simd/trig.h"
#include "tensor/element.h"

namespace qkv {
namespace {

constexpr std::int64_t kMaxWhole = std::int64_t{1} << 53;  // whole numbers up to it are doubles

// A float32 matrix of its own.
Status check_matrix(const MutableTensorView& out) {
  if (!out.defined()) return invalid_argument("out: absent; pass a tensor");
  if (Status s = check_view("out", out); !s.ok()) return s;
  if (out.rank != 2 || out.dtype != DType::kFloat32) {
    return invalid_argument("out: " + describe(out) + " is no float32 matrix; pass one");
  }
  if (Status s = check_pointer("out", out); !s.ok()) return s;
  if (overlaps_itself(out)) {
    return invalid_argument("out: elements of shape " + shape_string(out) +
                            " share memory by their strides; pass an output without overlap");
  }
  return {};
}

// The largest magnitude; kInvalidArgument if a number is not finite.
Status check_finite(const char* name, std::span<const double> numbers, double& largest) {
  largest = 0;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    if (!std::isfinite(numbers[n])) {
      return invalid_argument(std::string(name) + ": entry " + std::to_string(n) + " is " +
                              number_text(numbers[n]) + "; pass finite numbers");
    }
    largest = std::max(largest, std::abs(numbers[n]));
  }
  return {};
}

// Row n of `out` from the angles x * f: sine and cosine in turn, as many as it has columns.
void write_row(const MutableTensorView& out, std::int64_t n, double x,
               std::span<const double> frequencies) {
  for (std::int64_t column = 0; column < out.extents[1]; column += 2) {
    const SinCos of = sin_cos(x * frequencies[static_cast<std::size_t>(column / 2)]);
    const std::int64_t at = n * out.strides[0] + column * out.strides[1];
    store_result(out, at, of.sin);
    if (column + 1 < out.extents[1]) store_result(out, at + out.strides[1], of.cos);
  }
}

}  // namespace

Status check_frequencies(std::int64_t d, double base) {
  if (d < 1 || d > kMaxWhole) {
    return invalid_argument("d: " + std::to_string(d) + " is no number of columns; pass 1 to 2^53");
  }
  if (!(std::isfinite(base) && base >= 1)) {
    return invalid_argument("base: " + number_text(base) +
                            " is out of range; pass a finite number of at least 1, as 10000");
  }
  return {};
}

Status fill_frequencies(std::int64_t d, double base, std::span<double> frequencies) {
  if (Status s = check_frequencies(d, base); !s.ok()) return s;
  const std::int64_t count = d / 2 + d % 2;
  if (static_cast<std::int64_t>(frequencies.size()) != count) {
    return invalid_argument("frequencies: " + std::to_string(frequencies.size()) +
                            " places for d = " + std::to_string(d) + "; pass " +
                            std::to_string(count) + ", one for two columns");
  }
  const FloatEnvironment environment;
  for (std::int64_t i = 0; i < count; ++i) {
    frequencies[static_cast<std::size_t>(i)] =
        power(base, static_cast<double>(-2 * i), static_cast<double>(d));
  }
  return {};
}

Status fill_fourier_features(std::span<const double> x, std::span<const double> frequencies,
                             const MutableTensorView& out) {
  if (Status s = check_matrix(out); !s.ok()) return s;
  const auto rows = static_cast<std::int64_t>(x.size());
  const auto columns = 2 * static_cast<std::int64_t>(frequencies.size());
  const bool all = out.extents[1] == columns, odd = columns != 0 && out.extents[1] == columns - 1;
  if (out.extents[0] != rows || !(all || odd)) {
    return invalid_argument("out: shape " + shape_string(out) + " does not fit " +
                            std::to_string(rows) + " x and " + std::to_string(columns / 2) +
                            " frequencies; it must be [" + std::to_string(rows) + ", " +
                            std::to_string(columns) + "], or one column less");
  }
  for (const auto& [name, numbers] : {std::pair("x", x), std::pair("frequencies", frequencies)}) {
    if (overlap(out, TensorView(numbers.data(), {static_cast<std::int64_t>(numbers.size())}))) {
      return invalid_argument("out " + shape_string(out) + " and " + name +
                              " share memory; pass an output of its own");
    }
  }
  const FloatEnvironment environment;
  double largest_x, largest_frequency;
  if (Status s = check_finite("x", x, largest_x); !s.ok()) return s;
  if (Status s = check_finite("frequencies", frequencies, largest_frequency); !s.ok()) return s;
  if (!std::isfinite(largest_x * largest_frequency)) {
    return invalid_argument("x, frequencies: the angle " + number_text(largest_x) + " times " +
                            number_text(largest_frequency) +
                            " overflows double; pass smaller numbers");
  }
  for (std::int64_t n = 0; n < rows; ++n) {
    write_row(out, n, x[static_cast<std::size_t>(n)], frequencies);
  }
  return {};
}

Status fill_sinusoidal_positions(std::int64_t first, double base, const MutableTensorView& out) {
  if (Status s = check_matrix(out); !s.ok()) return s;
  const std::int64_t count = out.extents[0], d = out.extents[1];
  if (Status s = check_frequencies(d, base); !s.ok()) return s;
  if (first < -kMaxWhole || first > kMaxWhole - std::max<std::int64_t>(count, 1) + 1) {
    return invalid_argument("first: " + std::to_string(count) + " positions from " +
                            std::to_string(first) +
                            " on are not all exact in double; stay between -2^53 and 2^53");
  }
  if (count == 0) return {};
  std::vector<double> frequencies(static_cast<std::size_t>(d / 2 + d % 2));
  if (Status s = fill_frequencies(d, base, frequencies); !s.ok()) return s;
  const FloatEnvironment environment;
  for (std::int64_t n = 0; n < count; ++n) {
    write_row(out, n, static_cast<double>(first + n), frequencies);
  }
  return {};
}

}  // namespace qkv
