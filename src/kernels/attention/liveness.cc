#include "kernels/attention/liveness.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tensor/element.h"

namespace qkv {
namespace {

// Bits [begin, end) of a word.
std::uint64_t bits(std::int64_t begin, std::int64_t end) {
  begin = std::clamp<std::int64_t>(begin, 0, 64);
  end = std::clamp<std::int64_t>(end, 0, 64);
  if (begin >= end) return 0;
  return (~std::uint64_t{0} >> (64 - (end - begin))) << begin;
}

// Bit r of the result is set where bytes[r * stride] is not 0.
std::uint64_t pack_bytes(const std::uint8_t* bytes, std::int64_t stride, std::int64_t count) {
  std::uint64_t word = 0;
  std::int64_t r = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; stride == 1 && r + 8 <= count; r += 8) {
      std::uint64_t eight;
      std::memcpy(&eight, bytes + r, 8);
      // The top bit of each byte that is not 0, then the eight top bits gathered in one byte.
      constexpr std::uint64_t kLow7 = 0x7f7f7f7f7f7f7f7f;
      const std::uint64_t tops = (((eight & kLow7) + kLow7) | eight) & ~kLow7;
      word |= ((tops >> 7) * 0x0102040810204080 >> 56) << r;
    }
  }
  for (; r < count; ++r) word |= std::uint64_t{bytes[r * stride] != 0} << r;
  return word;
}

void apply_mask(const Problem& p, const RowTile& tile, KeyRange keys, std::uint64_t* words) {
  const auto* bytes = static_cast<const std::uint8_t*>(p.mask.data);
  const std::int64_t column = tile.sequence.key_row(keys.begin);
  const std::uint8_t* last = nullptr;
  std::uint64_t word = 0;
  for (int r = 0; r < tile.rows; ++r) {
    const std::uint8_t* row =
        bytes + offset_of(p.mask, tile.sequence.buffer, tile.heads[r],
                          tile.sequence.query_begin + tile.queries[r], column);
    if (row != last) {  // masks are often shared by rows or heads
      // Rows lie apart, so the hardware doesn't see what the next blocks will read.
      __builtin_prefetch(row + 2 * kBlock * p.mask.strides[3]);
      word = pack_bytes(row, p.mask.strides[3], keys.end - keys.begin);
      last = row;
    }
    words[r] &= word;
  }
}

// What the block predicate says of all rows together.
Visibility ask_predicate(const Problem& p, const RowTile& tile, const RowPlaces& places,
                         KeyRange keys) {
  if (!p.options.block_predicate) return Visibility::kMixed;
  bool hidden = true, visible = true;
  for (int r = 0; r < tile.rows;) {
    MaskBlock block{tile.sequence.index, tile.heads[r], places.positions[r],
                    places.positions[r], keys.begin,    keys.end - 1};
    for (; r < tile.rows && tile.heads[r] == block.head; ++r) {
      block.first_position = std::min(block.first_position, places.positions[r]);
      block.last_position = std::max(block.last_position, places.positions[r]);
    }
    const Visibility answer = p.options.block_predicate(block);
    hidden = hidden && answer == Visibility::kHidden;
    visible = visible && answer == Visibility::kVisible;
  }
  return hidden ? Visibility::kHidden : visible ? Visibility::kVisible : Visibility::kMixed;
}

void apply_mask_mod(const Problem& p, const RowTile& tile, const RowPlaces& places, KeyRange keys,
                    const Control& control, std::uint64_t* words) {
  const Visibility predicted = ask_predicate(p, tile, places, keys);
  if (!control.check_block_predicate) {
    if (predicted == Visibility::kVisible) return;
    if (predicted == Visibility::kHidden) {
      std::fill(words, words + tile.rows, 0);
      return;
    }
  }
  std::uint64_t shown[kMaxTileRows];
  const std::uint64_t every = bits(0, keys.end - keys.begin);
  std::fill(shown, shown + tile.rows, every);
  MaskTile view;
  view.batch = tile.sequence.index;
  view.rows = tile.rows;
  view.heads = tile.heads;
  view.positions = places.positions;
  view.first_key = keys.begin;
  view.keys = keys.end - keys.begin;
  view.live = shown;
  p.options.mask_mod(view);
  for (int r = 0; r < tile.rows; ++r) {
    const bool wrong = (predicted == Visibility::kHidden && shown[r] != 0) ||
                       (predicted == Visibility::kVisible && (shown[r] & every) != every);
    if (wrong && control.predicate_failed != nullptr) *control.predicate_failed = true;
    words[r] &= shown[r];
  }
}

}  // namespace

RowPlaces::RowPlaces(const Problem& p, const RowTile& tile, KeyRange keys)
    : any{0, 0}, common(keys) {
  for (int r = 0; r < tile.rows; ++r) {
    positions[r] = tile.sequence.position(tile.queries[r]);
    KeyRange range = p.visible_keys(tile.sequence, positions[r]);
    range = {std::max(range.begin, keys.begin), std::min(range.end, keys.end)};
    if (range.begin >= range.end) range = {0, 0};
    visible[r] = range;
    common = {std::max(common.begin, range.begin), std::min(common.end, range.end)};
    if (range.begin == range.end) continue;
    any = any.begin == any.end
              ? range
              : KeyRange{std::min(any.begin, range.begin), std::max(any.end, range.end)};
  }
}

Live live_words(const Problem& p, const RowTile& tile, const RowPlaces& places, KeyRange keys,
                const Control& control, std::uint64_t* words) {
  const bool tensor = p.mask.defined(), callback = static_cast<bool>(p.options.mask_mod);
  if (!tensor && !callback && places.common.begin <= keys.begin && keys.end <= places.common.end) {
    return Live::kAll;
  }
  std::uint64_t some = 0, all = ~std::uint64_t{0};
  const auto summarize = [&] {
    some = 0;
    all = ~std::uint64_t{0};
    for (int r = 0; r < tile.rows; ++r) {
      some |= words[r];
      all &= words[r];
    }
  };
  for (int r = 0; r < tile.rows; ++r) {
    words[r] = bits(places.visible[r].begin - keys.begin, places.visible[r].end - keys.begin);
  }
  summarize();
  if (some != 0 && tensor) {
    apply_mask(p, tile, keys, words);
    summarize();
  }
  if (some != 0 && callback) {
    apply_mask_mod(p, tile, places, keys, control, words);
    summarize();
  }
  if (some == 0) return Live::kNone;
  const std::uint64_t every = bits(0, keys.end - keys.begin);
  return (all & every) == every ? Live::kAll : Live::kSome;
}

}  // namespace qkv
