#include "boundary.h"

#ifdef __cpp_exceptions
#include <new>
#include <stdexcept>

namespace qkv::c {

qkv_status report_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return report(QKV_OUT_OF_MEMORY, "no memory for this call");
  } catch (const std::length_error&) {
    return report(QKV_OUT_OF_MEMORY, "no memory for an array of this size");
  } catch (...) {  // the library itself throws nothing else
    return report(QKV_CALLBACK_FAILED, "a callback threw; the outputs are unspecified");
  }
}

}  // namespace qkv::c
#endif
