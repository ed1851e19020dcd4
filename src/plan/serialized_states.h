// States as bytes: little-endian, the same on every machine.
#ifndef QKV_PLAN_SERIALIZED_STATES_H_
#define QKV_PLAN_SERIALIZED_STATES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "plan/states.h"

namespace qkv {

// "QKVSTATE", then 64-bit numbers: contract version, rank, batch, heads, queries, d_v, first key,
// end key, nodes; for each node first and end span, then [rows][2 + d_v] floats: m, l, sums.
std::vector<std::byte> serialize_states(const States& states);

// kInvalidArgument for anything serialize_states() did not make.
Status deserialize_states(std::span<const std::byte> bytes, States& states);

}  // namespace qkv

#endif  // QKV_PLAN_SERIALIZED_STATES_H_
