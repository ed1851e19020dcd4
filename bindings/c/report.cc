#include "report.h"

#include <algorithm>
#include <cstring>

namespace qkv::c {
namespace {

// Of a fixed size, so that a failure for want of memory can be told. The longest messages of the
// library name three shapes of rank 4 with 64-bit extents and have some 500 characters.
thread_local char last_error[1024] = "";

}  // namespace

qkv_status report(qkv_status code, const char* message) noexcept {
  if (code == QKV_OK) return code;
  const std::size_t length = std::min(std::strlen(message), sizeof(last_error) - 1);
  std::memcpy(last_error, message, length);
  last_error[length] = '\0';
  return code;
}

qkv_status report(const Status& status) noexcept {
  return report(static_cast<qkv_status>(status.code()), status.message().c_str());
}

}  // namespace qkv::c

const char* qkv_last_error(void) { return qkv::c::last_error; }

const char* qkv_status_name(qkv_status status) {
  switch (status) {
    case QKV_OK:
      return "ok";
    case QKV_INVALID_ARGUMENT:
      return "invalid argument";
    case QKV_UNSUPPORTED:
      return "unsupported";
    case QKV_OUT_OF_MEMORY:
      return "out of memory";
    case QKV_CANCELLED:
      return "cancelled";
    case QKV_CALLBACK_FAILED:
      return "callback failed";
    default:
      return "unknown status";
  }
}
