#include "simd/float_environment.h"

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

namespace qkv {

// Out of line and behind memory clobbers, so that no compiler moves arithmetic across the change.
#if defined(__x86_64__) || defined(__i386__)

FloatEnvironment::FloatEnvironment() {
  control_ = _mm_getcsr();
  // All exceptions masked, no flags, round to nearest, FTZ and DAZ off.
  _mm_setcsr(0x1f80);
  asm volatile("" ::: "memory");
}
FloatEnvironment::~FloatEnvironment() {
  asm volatile("" ::: "memory");
  _mm_setcsr(static_cast<unsigned>(control_));
}

#elif defined(__aarch64__)

FloatEnvironment::FloatEnvironment() {
  asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control_), "=r"(status_));
  asm volatile("msr fpcr, %0" ::"r"(std::uint64_t{0}) : "memory");
}
FloatEnvironment::~FloatEnvironment() {
  asm volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(control_), "r"(status_) : "memory");
}

#else  // WebAssembly has this mode and no other.

FloatEnvironment::FloatEnvironment() = default;
FloatEnvironment::~FloatEnvironment() = default;

#endif

}  // namespace qkv
