#include "qkv/error.h"

namespace qkv {

void throw_if_error(const Status& status) {
  const std::string& message = status.message();
  switch (status.code()) {
    case StatusCode::kOk:
      return;
    case StatusCode::kInvalidArgument:
      throw InvalidArgument(message);
    case StatusCode::kUnsupported:
      throw Unsupported(message);
    case StatusCode::kOutOfMemory:
      throw OutOfMemory(message);
    case StatusCode::kCancelled:
      throw Cancelled(message);
    case StatusCode::kFileError:
      throw FileError(message);
    case StatusCode::kCallbackFailed:
      throw Error(message);
  }
}

}  // namespace qkv
