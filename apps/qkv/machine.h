// What the public API tells about this machine, and a little more.
#ifndef QKV_APPS_QKV_MACHINE_H_
#define QKV_APPS_QKV_MACHINE_H_

#include "qkv/attention.h"

namespace qkv::app {

// The plan of a problem with very many rows and hardly any work. Throws Unsupported if the
// instruction set can't be used.
PlanDescription describe_kernel(Isa isa);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_MACHINE_H_
