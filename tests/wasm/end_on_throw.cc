// What a throw calls, for programs in which nothing is thrown: the end.
#include <cstdio>
#include <cstdlib>

extern "C" {

void* __cxa_allocate_exception(std::size_t) {
  std::fputs("an exception was thrown, which this build can't handle\n", stderr);
  std::abort();
}

void __cxa_throw(void*, void*, void*) { std::abort(); }
}
