// The exceptions of the C++ façade. Each carries the message of the Status it stands for.
#ifndef QKV_ERROR_H_
#define QKV_ERROR_H_

#include <stdexcept>
#include <string>

#include "qkv/status.h"

namespace qkv {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Bad input. Nothing was computed or written.
class InvalidArgument : public Error {
  using Error::Error;
};
// Good input that this build or this machine can't handle.
class Unsupported : public Error {
  using Error::Error;
};
class OutOfMemory : public Error {
  using Error::Error;
};
// The cancel flag was set. The outputs are unspecified.
class Cancelled : public Error {
  using Error::Error;
};
class FileError : public Error {
  using Error::Error;
};

// Returns if `status` is ok, else throws the exception of its code.
void throw_if_error(const Status& status);

}  // namespace qkv

#endif  // QKV_ERROR_H_
