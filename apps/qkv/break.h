// The deliberate fault of `qkv verify --break exp`, in builds that have it (CMake: QKV_BREAKABLE).
#ifndef QKV_APPS_QKV_BREAK_H_
#define QKV_APPS_QKV_BREAK_H_

namespace qkv::app {

// Makes exp of every kernel one ulp too large from now on. False if this build can't.
bool break_exp();

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_BREAK_H_
