// The hash of make_expected.py: FNV-1a, 64 bits, over 64-bit words instead of bytes.
#ifndef QKV_TESTS_RANDOM_FNV1A_H_
#define QKV_TESTS_RANDOM_FNV1A_H_

#include <bit>
#include <cstdint>
#include <vector>

namespace qkv::random {

template <class T>
std::uint64_t fnv1a(const std::vector<T>& numbers) {
  static_assert(sizeof(T) == sizeof(std::uint64_t));
  std::uint64_t value = 0xcbf29ce484222325;
  for (T number : numbers) value = (value ^ std::bit_cast<std::uint64_t>(number)) * 0x100000001b3;
  return value;
}

}  // namespace qkv::random

#endif  // QKV_TESTS_RANDOM_FNV1A_H_
