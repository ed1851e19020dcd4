#include "fill.h"

#include <bit>

#include "command.h"

namespace qkv::app {
namespace {

// `number` as binary16; it has at most 11 significant bits and is 0 or in [2^-14, 2^15].
std::uint16_t half_bits(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  if (number == 0) return static_cast<std::uint16_t>(sign);
  const std::uint32_t exponent = (bits >> 23 & 0xff) - 127 + 15;
  return static_cast<std::uint16_t>(sign | exponent << 10 | (bits >> 13 & 0x3ff));
}

}  // namespace

Tensor draw(random::Generator& generator, DType dtype, std::span<const std::int64_t> shape) {
  Tensor tensor;
  check(allocate(dtype, shape, tensor));
  const std::int64_t size = tensor.size();
  const auto fraction = [&](int bits) {
    const std::int64_t one = std::int64_t{1} << bits;
    return static_cast<float>(generator.integers(-one, one + 1)) / static_cast<float>(one);
  };
  for (std::int64_t i = 0; i < size; ++i) {
    if (dtype == DType::kFloat16) {
      tensor.data<std::uint16_t>()[i] = half_bits(fraction(10));
    } else if (dtype == DType::kBFloat16) {
      const auto bits = std::bit_cast<std::uint32_t>(fraction(7));
      tensor.data<std::uint16_t>()[i] = static_cast<std::uint16_t>(bits >> 16);
    } else {
      tensor.data<float>()[i] = fraction(23);
    }
  }
  return tensor;
}

Tensor draw_mask(random::Generator& generator, double share, std::span<const std::int64_t> shape) {
  Tensor tensor;
  check(allocate(DType::kBool, shape, tensor));
  const std::int64_t size = tensor.size();
  for (std::int64_t i = 0; i < size; ++i) {
    tensor.data<std::uint8_t>()[i] = generator.random() < share ? 1 : 0;
  }
  return tensor;
}

}  // namespace qkv::app
