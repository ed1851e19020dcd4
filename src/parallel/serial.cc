#include "parallel/parallel.h"

namespace qkv::parallel {

struct Executor::Arena {};

Executor::Executor(int) : slots_(1) {}
Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;

void Executor::run(std::int64_t count, Task task, const void* context) {
  for (std::int64_t index = 0; index < count; ++index) task(context, index, 0);
}

int available_threads() { return 1; }

const char* backend_name() { return "serial"; }

}  // namespace qkv::parallel
