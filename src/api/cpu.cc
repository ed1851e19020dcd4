#include "qkv/cpu.h"

#include <cstring>

#include "parallel/parallel.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace qkv {

int available_threads() { return parallel::available_threads(); }

std::string_view thread_backend() { return parallel::backend_name(); }

std::string cpu_name() {
#if defined(__x86_64__)
  unsigned registers[12] = {};
  for (unsigned part = 0; part < 3; ++part) {
    unsigned* r = registers + 4 * part;
    if (__get_cpuid(0x80000002 + part, &r[0], &r[1], &r[2], &r[3]) == 0) return "unknown";
  }
  char text[sizeof(registers) + 1] = {};
  std::memcpy(text, registers, sizeof(registers));
  std::string name(text);
  name.erase(name.find_last_not_of(' ') + 1);
  name.erase(0, name.find_first_not_of(' '));
  return name.empty() ? "unknown" : name;
#else
  return "unknown";
#endif
}

}  // namespace qkv
