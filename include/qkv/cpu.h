// Instruction sets: which kernels this build holds and which of them this machine can run.
#ifndef QKV_CPU_H_
#define QKV_CPU_H_

#include <string>
#include <string_view>
#include <vector>

#include "qkv/status.h"

namespace qkv {

enum class Isa {
  kBest,      // the fastest usable one, or the one named by the environment variable QKV_ISA
  kPortable,  // any CPU; fused multiply-add by exact emulation where the hardware has none
  kNeon,      // AArch64
  kAvx2,      // x86-64 with AVX2 and FMA
  kAvx512,    // x86-64 with AVX-512 F, BW, CD, DQ and VL
};

std::string_view name_of(Isa isa);  // "best", "portable", "neon", "avx2", "avx512"
// False if there is no such name.
bool isa_from_name(std::string_view name, Isa& isa);

std::vector<Isa> built_isas();   // kernels in this build, the slowest first
std::vector<Isa> usable_isas();  // those that this machine can run, the slowest first

// Threads that a call made here and now uses if it names no number, and what runs them: "oneTBB" or
// "serial".
int available_threads();
std::string_view thread_backend();

// The CPU's own name; "unknown" where there is no way to ask.
std::string cpu_name();

}  // namespace qkv

#endif  // QKV_CPU_H_
