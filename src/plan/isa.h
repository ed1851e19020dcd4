// Which kernels a call uses.
#ifndef QKV_PLAN_ISA_H_
#define QKV_PLAN_ISA_H_

#include "kernels/registry.h"
#include "qkv/cpu.h"
#include "qkv/status.h"

namespace qkv {

// The kernels of `isa`; for Isa::kBest those the environment variable QKV_ISA names, or the fastest
// this machine can run. kUnsupported if they are not built or the machine can't run them.
Status select_kernels(Isa isa, const KernelSet** kernels);

}  // namespace qkv

#endif  // QKV_PLAN_ISA_H_
