#include "qkv/positions.h"

#include "positions/positions.h"

namespace qkv {

std::vector<double> sinusoidal_frequencies(std::int64_t d, double base) {
  throw_if_error(check_frequencies(d, base));
  std::vector<double> frequencies(static_cast<std::size_t>(d / 2 + d % 2));
  throw_if_error(fill_frequencies(d, base, frequencies));
  return frequencies;
}

void fourier_features(std::span<const double> x, std::span<const double> frequencies,
                      const MutableTensorView& out) {
  throw_if_error(fill_fourier_features(x, frequencies, out));
}

Tensor sinusoidal_positions(std::int64_t first, std::int64_t count, std::int64_t d, double base) {
  throw_if_error(check_frequencies(d, base));
  const std::int64_t shape[] = {count, d};
  Tensor out;
  throw_if_error(allocate(DType::kFloat32, shape, out));
  throw_if_error(fill_sinusoidal_positions(first, base, out));
  return out;
}

}  // namespace qkv
