// Where a call of the C interface ends: a Status becomes a code, and its message is kept.
#ifndef QKV_BINDINGS_C_BOUNDARY_H_
#define QKV_BINDINGS_C_BOUNDARY_H_

#include <string>

#include "qkv.h"
#include "qkv/status.h"
#include "report.h"

namespace qkv::c {

#ifdef __cpp_exceptions
// The code of the exception being handled; its message is kept.
qkv_status report_exception() noexcept;
#endif

// Runs `body`, which returns a Status. The engine throws nothing; the standard library does when
// memory runs out. Builds without exceptions end there (WebAssembly traps).
template <class Body>
qkv_status guarded(Body&& body) noexcept {
#ifdef __cpp_exceptions
  try {
    return report(body());
  } catch (...) {
    return report_exception();
  }
#else
  return report(body());
#endif
}

inline Status null_argument(const char* name) {
  return invalid_argument(std::string(name) + ": null pointer");
}

}  // namespace qkv::c

#endif  // QKV_BINDINGS_C_BOUNDARY_H_
