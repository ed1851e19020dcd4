#include "support/caller_environment.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace qkv::test {
namespace {

#if defined(__x86_64__)
std::uint64_t get() { return _mm_getcsr(); }
void set(std::uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
std::uint64_t with(std::uint64_t mode, CallerMode caller) {
  switch (caller) {
    case CallerMode::kFlushSubnormals:
      return mode | 0x8040;  // FTZ and DAZ
    case CallerMode::kRoundUpward:
      return (mode & ~0x6000u) | 0x4000;  // RC = 10
    case CallerMode::kTraps:
      return mode & ~0x0e80u;  // invalid, division, overflow, underflow
    default:
      return mode;
  }
}
#elif defined(__aarch64__)
std::uint64_t get() {
  std::uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void set(std::uint64_t mode) { asm volatile("msr fpcr, %0" ::"r"(mode) : "memory"); }
std::uint64_t with(std::uint64_t mode, CallerMode caller) {
  switch (caller) {
    case CallerMode::kFlushSubnormals:
      return mode | (1u << 24);  // FZ
    case CallerMode::kRoundUpward:
      return (mode & ~(3u << 22)) | (1u << 22);  // RMode = 01
    case CallerMode::kTraps:
      return mode | (1u << 8) | (1u << 9) | (1u << 10);  // where there are any
    default:
      return mode;
  }
}
#else
std::uint64_t get() { return 0; }
void set(std::uint64_t) {}
std::uint64_t with(std::uint64_t mode, CallerMode) { return mode; }
#endif

}  // namespace

const char* name_of(CallerMode mode) {
  constexpr const char* kNames[] = {"default", "FTZ+DAZ", "FE_UPWARD", "traps"};
  return kNames[static_cast<int>(mode)];
}

CallerEnvironment::CallerEnvironment(CallerMode mode) : before_(get()) {
  set(with(before_, mode));
  mode_ = get();  // some CPUs have no traps
}
CallerEnvironment::~CallerEnvironment() { set(before_); }
bool CallerEnvironment::unchanged() const { return get() == mode_; }

}  // namespace qkv::test
