// The status and the message that a call leaves behind. Nothing here throws or allocates.
#ifndef QKV_BINDINGS_C_REPORT_H_
#define QKV_BINDINGS_C_REPORT_H_

#include "qkv.h"
#include "qkv/status.h"

namespace qkv::c {

// Keeps the message of a failure for qkv_last_error() and returns the code.
qkv_status report(const Status& status) noexcept;
qkv_status report(qkv_status code, const char* message) noexcept;

}  // namespace qkv::c

#endif  // QKV_BINDINGS_C_REPORT_H_
