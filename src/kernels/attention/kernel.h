// What an attention kernel is: a table of functions for one instruction set.
#ifndef QKV_KERNELS_ATTENTION_KERNEL_H_
#define QKV_KERNELS_ATTENTION_KERNEL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "problem/problem.h"
#include "simd/faults.h"

namespace qkv {

// The sizes of contract A. docs/arithmetic.md has the measurements behind them; only the program
// that makes those measurements (bench/block_study.cc) is ever built with others.
#ifndef QKV_BLOCK_KEYS
#if QKV_FAULT_CODE == QKV_FAULT_SHORT_BLOCK
#define QKV_BLOCK_KEYS 31
#else
#define QKV_BLOCK_KEYS 32
#endif
#endif
#ifndef QKV_SPAN_BLOCKS
#define QKV_SPAN_BLOCKS 32
#endif
#ifndef QKV_GROUP_TERMS
#define QKV_GROUP_TERMS 32
#endif
inline constexpr std::int64_t kGroup = QKV_GROUP_TERMS;
inline constexpr std::int64_t kBlock = QKV_BLOCK_KEYS;
inline constexpr std::int64_t kSpan = QKV_SPAN_BLOCKS * kBlock;

// Rows of a tile at most.
inline constexpr int kMaxTileRows = 64;

// Tiles that one call of a kernel takes at most. Four share each strip of keys, so that a long
// sequence is read from memory once for 192 rows (AVX-512): 1x1x131072x64 would else wait for it.
inline constexpr int kTilesAtOnce = 4;

// Query rows of one sequence that read the same key head, in any order and of any of its query
// heads.
struct RowTile {
  Sequence sequence;
  std::int64_t key_head;
  int rows = 0;
  std::int64_t heads[kMaxTileRows];    // query head of each row
  std::int64_t queries[kMaxTileRows];  // i of each row, below sequence.queries

  void add(std::int64_t head, std::int64_t query) {
    heads[rows] = head;
    queries[rows] = query;
    ++rows;
  }
};

// States in memory, one a row: m, l, then from kStateValues on the d_v sums, padded with zeros so
// that every instruction set works on whole vectors.
inline constexpr std::int64_t kStateValues = 16;
inline std::int64_t state_stride(std::int64_t d_v) { return kStateValues + (d_v + 15) / 16 * 16; }

// What goes on during a call besides arithmetic.
struct Control {
  const std::atomic<bool>* cancel = nullptr;  // the caller's
  const std::atomic<bool>* stop = nullptr;    // ours: a callback threw
  bool check_block_predicate = false;
  std::atomic<bool>* predicate_failed = nullptr;

  bool cancelled() const {
    return (cancel != nullptr && cancel->load(std::memory_order_relaxed)) ||
           (stop != nullptr && stop->load(std::memory_order_relaxed));
  }
};

struct AttentionKernel {
  Isa isa;
  const char* name;
  int tile_rows;  // rows that share one pass over the keys at best speed

  // Bytes of scratch memory that each call below needs, any alignment.
  std::size_t (*scratch_bytes)(const Problem& p);

  // The states of the rows of `count` tiles, at most kTilesAtOnce, over the keys [keys.begin,
  // keys.end) they may see, which must be whole spans but for the sequence's ends: `states` [rows
  // of all tiles][state_stride]. Tiles of one key head share the caches. If cancelled, garbage.
  void (*states)(const Problem& p, const RowTile* tiles, int count, KeyRange keys, float* states,
                 std::byte* scratch, const Control& control);

  // x = merge(x, y) row by row.
  void (*merge)(float* x, const float* y, std::int64_t rows, std::int64_t d_v);

  // Merges the sinks (one a query head; may be empty) into the states.
  void (*add_sinks)(const RowTile& tile, std::span<const float> sinks, float* states,
                    std::int64_t d_v);

  // Divides, rounds and writes the results of the tile's rows to their places.
  void (*finish)(const RowResults& results, const RowTile& tile, const float* states,
                 std::int64_t d_v);

  // Writes the tile's weights exp(s - m) / l, row r to element offsets[r] of p.weights and on; the
  // states are final, sinks included.
  void (*weights)(const Problem& p, const RowTile& tile, const float* states,
                  const std::int64_t* offsets, std::byte* scratch, const Control& control);
};

}  // namespace qkv

#endif  // QKV_KERNELS_ATTENTION_KERNEL_H_
