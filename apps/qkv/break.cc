#include "break.h"

#ifdef QKV_BREAKABLE
// No part of the public API, since it is in no ordinary build; see src/simd/faults.h.
namespace qkv::faults {
extern bool g_break_exp;
}
#endif

namespace qkv::app {

bool break_exp() {
#ifdef QKV_BREAKABLE
  faults::g_break_exp = true;
  return true;
#else
  return false;
#endif
}

}  // namespace qkv::app
