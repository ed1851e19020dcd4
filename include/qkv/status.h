// What a call reports. The engine returns Status; only the façade (qkv/error.h) throws.
#ifndef QKV_STATUS_H_
#define QKV_STATUS_H_

#include <string>
#include <utility>

namespace qkv {

enum class StatusCode {
  kOk = 0,
  kInvalidArgument,  // bad input: nothing was computed or written
  kUnsupported,      // good input that this build or this machine can't handle
  kOutOfMemory,
  kCancelled,       // the caller's cancel flag was set: outputs are unspecified
  kCallbackFailed,  // a score_mod, mask_mod or progress callback threw: outputs are unspecified
  kFileError,       // a file could not be read, parsed or written
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  // One sentence that names the argument, the shapes involved and what to do. Empty if ok.
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status invalid_argument(std::string message) {
  return {StatusCode::kInvalidArgument, std::move(message)};
}
inline Status unsupported(std::string message) {
  return {StatusCode::kUnsupported, std::move(message)};
}
inline Status file_error(std::string message) {
  return {StatusCode::kFileError, std::move(message)};
}

}  // namespace qkv

#endif  // QKV_STATUS_H_
