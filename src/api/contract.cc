#include "qkv/contract.h"

#include "kernels/attention/kernel.h"

namespace qkv {

Contract contract() { return {"A", 1, kBlock, kSpan, kGroup}; }

std::string_view version() { return QKV_VERSION; }

}  // namespace qkv
