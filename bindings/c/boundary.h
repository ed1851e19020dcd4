// Where exceptions of the C++ façade end.
#ifndef QKV_BINDINGS_C_BOUNDARY_H_
#define QKV_BINDINGS_C_BOUNDARY_H_

#include "callbacks.h"
#include "qkv.h"
#include "qkv/attention.h"
#include "qkv/status.h"
#include "report.h"

namespace qkv::c {

// The code of the exception being handled; its message is kept.
qkv_status report_exception() noexcept;

// Runs `body`, which returns a Status or throws.
template <class Body>
qkv_status guarded(Body&& body) noexcept {
  try {
    return report(body());
  } catch (...) {
    return report_exception();
  }
}

inline Status null_argument(const char* name) {
  return invalid_argument(std::string(name) + ": null pointer");
}

// Makes callbacks throw once `record` holds a failure, which is how the façade stops a run.
void throw_on_failure(AttentionOptions& options, const CallbackRecord& record);
void throw_on_failure(ExecutionOptions& execution, const CallbackRecord& record);

}  // namespace qkv::c

#endif  // QKV_BINDINGS_C_BOUNDARY_H_
