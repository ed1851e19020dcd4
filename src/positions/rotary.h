// Frequencies and tables of rotary positions, checked and written.
#ifndef QKV_POSITIONS_ROTARY_H_
#define QKV_POSITIONS_ROTARY_H_

#include <cstdint>
#include <span>

#include "qkv/positions.h"
#include "qkv/status.h"

namespace qkv {

Status check_rotary(std::int64_t r, const RotaryOptions& options);

// `frequencies` must have r / 2 places.
Status fill_rotary_frequencies(std::int64_t r, const RotaryOptions& options,
                               std::span<double> frequencies, double& magnitude);

// [.., L, frequencies] for positions [.., L].
Status check_positions(const TensorView& positions);
Status fill_rotary_tables(const TensorView& positions, std::span<const double> frequencies,
                          double magnitude, const MutableTensorView& cosines,
                          const MutableTensorView& sines);

}  // namespace qkv

#endif  // QKV_POSITIONS_ROTARY_H_
