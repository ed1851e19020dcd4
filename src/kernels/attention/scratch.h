// Hands out pieces of a scratch memory, aligned for vectors.
#ifndef QKV_KERNELS_ATTENTION_SCRATCH_H_
#define QKV_KERNELS_ATTENTION_SCRATCH_H_

#include <cstddef>
#include <cstdint>

namespace qkv {

class Scratch {
 public:
  static constexpr std::int64_t kAlignFloats = 16;  // 64 bytes, a cache line

  explicit Scratch(std::byte* memory) : next_(align(memory)) {}

  float* floats(std::int64_t count) {
    float* piece = reinterpret_cast<float*>(next_);
    next_ = align(next_ + count * static_cast<std::int64_t>(sizeof(float)));
    return piece;
  }

 private:
  static std::byte* align(std::byte* p) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    return p + (64 - address % 64) % 64;
  }

  std::byte* next_;
};

}  // namespace qkv

#endif  // QKV_KERNELS_ATTENTION_SCRATCH_H_
