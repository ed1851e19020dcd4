// Which keys of a block each row of a tile may attend to: one 64-bit word a row.
#ifndef QKV_KERNELS_ATTENTION_LIVENESS_H_
#define QKV_KERNELS_ATTENTION_LIVENESS_H_

#include <cstdint>

#include "kernels/attention/kernel.h"

namespace qkv {

// Where the rows of a tile sit, and what lengths, causality and window leave them.
struct RowPlaces {
  std::int64_t positions[kMaxTileRows];
  KeyRange visible[kMaxTileRows];
  KeyRange any;     // the smallest range that holds every row's
  KeyRange common;  // the keys in all of them

  RowPlaces(const Problem& p, const RowTile& tile, KeyRange keys);
};

enum class Live { kNone, kSome, kAll };

// Fills words[row] for the keys [keys.begin, keys.end), at most 64: bit r stands for key keys.begin
// + r, 1 = live as far as ranges, mask and mask_mod decide it (a score of -inf masks too, later).
// Says whether no, some or all bits of all rows are set; if all, words may be left untouched.
Live live_words(const Problem& p, const RowTile& tile, const RowPlaces& places, KeyRange keys,
                const Control& control, std::uint64_t* words);

}  // namespace qkv

#endif  // QKV_KERNELS_ATTENTION_LIVENESS_H_
