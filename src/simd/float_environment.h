// The floating-point mode of contract A: round to nearest even, subnormals kept, no traps.
#ifndef QKV_SIMD_FLOAT_ENVIRONMENT_H_
#define QKV_SIMD_FLOAT_ENVIRONMENT_H_

#include <cstdint>

namespace qkv {

// Sets the mode for this thread while it lives, then puts back the caller's mode and sticky flags
// as they were. The caller may run with flush-to-zero, another rounding or unmasked traps.
class FloatEnvironment {
 public:
  FloatEnvironment();
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  // WebAssembly saves nothing, x86 all in one register.
  [[maybe_unused]] std::uint64_t control_ = 0;
  [[maybe_unused]] std::uint64_t status_ = 0;
};

}  // namespace qkv

#endif  // QKV_SIMD_FLOAT_ENVIRONMENT_H_
