// Turns exceptions of the standard library and of nlohmann-json into a Status at the API's edge.
#ifndef QKV_SRC_IO_GUARD_H_
#define QKV_SRC_IO_GUARD_H_

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "qkv/status.h"

namespace qkv::io {

// Calls `work`, which returns a Status. `file` begins the message of what it throws.
template <class Work>
Status guarded(std::string_view file, const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return {StatusCode::kOutOfMemory, std::string(file) + ": no memory; free some"};
  } catch (const std::length_error&) {
    return {StatusCode::kOutOfMemory, std::string(file) + ": no memory; free some"};
  } catch (const std::exception& error) {
    return file_error(std::string(file) + ": " + error.what());
  }
}

}  // namespace qkv::io

#endif  // QKV_SRC_IO_GUARD_H_
