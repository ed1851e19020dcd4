#include "parallel/parallel.h"

namespace qkv::parallel {

struct Executor::Arena {};

Executor::Executor(int, std::int64_t) : slots_(1) {}
Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;

void Executor::run(std::int64_t count, Task task, const void* context) {
  for (std::int64_t index = 0; index < count && task(context, index, 0); ++index) {
  }
}

int available_threads() { return 1; }

void yield() {}

const char* backend_name() { return "serial"; }

}  // namespace qkv::parallel
