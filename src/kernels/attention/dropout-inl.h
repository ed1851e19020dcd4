// Which weights dropout leaves in the weighted sums.
#ifndef QKV_KERNELS_ATTENTION_DROPOUT_INL_H_
#define QKV_KERNELS_ATTENTION_DROPOUT_INL_H_

#include <algorithm>
#include <cstdint>

#include "kernels/attention/liveness.h"
#include "simd/philox-inl.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

// Calls f(key, vector, kept) for the keys [keys.begin, keys.end) and the first `vectors` vectors of
// rows, with the lanes that keep the key.
template <class F>
QKV_INLINE void for_kept(const Problem& p, const RowTile& tile, const RowPlaces& places,
                         KeyRange keys, int vectors, F f) {
  const auto stream = static_cast<std::uint32_t>(p.dropout_stream(tile.sequence));
  for (int v = 0; v < vectors; ++v) {
    std::uint32_t positions[kLanes], heads[kLanes];
    for (int n = 0; n < kLanes; ++n) {
      const int row = std::min(v * kLanes + n, tile.rows - 1);
      positions[n] = static_cast<std::uint32_t>(places.positions[row]);
      heads[n] = static_cast<std::uint32_t>(tile.heads[row]);
    }
    for (std::int64_t group = keys.begin / 4; group * 4 < keys.end; ++group) {
      M kept[4];
      dropout_keeps(load_words(positions), load_words(heads), stream, p.options.dropout->seed,
                    static_cast<std::uint32_t>(group), p.dropout_threshold, kept);
      for (std::int64_t j = std::max(keys.begin, group * 4); j < std::min(keys.end, group * 4 + 4);
           ++j) {
        f(static_cast<int>(j - keys.begin), v, kept[j % 4]);
      }
    }
  }
}

// Dropped weights [key][row_stride] become `dropped`.
inline void drop_weights(const Problem& p, const RowTile& tile, const RowPlaces& places,
                         KeyRange keys, int vectors, float* weights, std::int64_t row_stride,
                         V dropped) {
  for_kept(p, tile, places, keys, vectors, [&](int key, int v, M kept) {
    float* place = weights + key * row_stride + v * kLanes;
    store(select(kept, load(place), dropped), place);
  });
}

// The same of one row, where lanes are keys: bit r stands for key keys.begin + r, 1 = kept.
inline std::uint64_t kept_word(const Problem& p, const Sequence& sequence, std::int64_t head,
                               std::int64_t position, KeyRange keys) {
  std::uint64_t bits = 0;
  for (std::int64_t group = keys.begin / 4; group * 4 < keys.end; ++group) {
    const std::uint32_t counter[4] = {
        static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(position),
        static_cast<std::uint32_t>(head), static_cast<std::uint32_t>(p.dropout_stream(sequence))};
    std::uint32_t word[4];
    qkv::philox(counter, p.options.dropout->seed, word);
    for (std::int64_t j = std::max(keys.begin, group * 4); j < std::min(keys.end, group * 4 + 4);
         ++j) {
      bits |= std::uint64_t{word[j % 4] >= p.dropout_threshold} << (j - keys.begin);
    }
  }
  return bits;
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_ATTENTION_DROPOUT_INL_H_
