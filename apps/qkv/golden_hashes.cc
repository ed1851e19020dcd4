#include "golden.h"

namespace qkv::app {
namespace {

constexpr GoldenHash kHashes[] = {
#include "golden.inc"
};

}  // namespace

std::span<const GoldenHash> golden_hashes() { return kHashes; }

}  // namespace qkv::app
