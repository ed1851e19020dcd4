#include "simd/faults.h"

#ifdef QKV_BREAKABLE
namespace qkv::faults {
bool g_break_exp = false;
}
#endif
