// What attention computes (AttentionOptions) and how a call runs (ExecutionOptions).
//
// For query i of head h in sequence b, and key j of that sequence:
//   s  = scale * dot(q_i, k_j)          then softcap, score_mod, ALiBi and bias, in this order
//   live(i, j)                          unless causal, window, lengths, mask or mask_mod hide it
//   out_i = sum_j w_j v_j,  w = softmax of the live s
// Positions: j counts a sequence's own keys from its first one; query i sits at p(i) = i + offset.
// docs/arithmetic.md has every rule, and the order in which each number is added.
#ifndef QKV_OPTIONS_H_
#define QKV_OPTIONS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "qkv/cpu.h"
#include "qkv/tensor.h"

namespace qkv {

// Where queries sit among the keys when `query_offset` is not given. With Lq queries and Lk keys:
//   kBottomRight: offset = Lk - Lq    1 1 1 0 0      kTopLeft: offset = 0    1 0 0 0 0
//   (the last query sees every key)   1 1 1 1 0                              1 1 0 0 0
//   drawn: causal, Lq = 3, Lk = 5     1 1 1 1 1                              1 1 1 0 0
enum class Alignment { kBottomRight, kTopLeft };

// Keys j with p - left <= j <= p + right; an absent end is unbounded.
struct Window {
  std::optional<std::int64_t> left;
  std::optional<std::int64_t> right;
};

enum class Arithmetic {
  kByType,   // contract A; all-bfloat16 inputs are refused, since their own contract is not built
             // yet
  kFloat32,  // contract A, also for all-bfloat16 inputs
};

// Some rows of queries against consecutive keys of one sequence, as callbacks see them.
struct TileRows {
  std::int64_t batch = 0;  // b, the sequence
  std::int64_t rows = 0;
  const std::int64_t* heads = nullptr;      // [rows] query head of each row
  const std::int64_t* positions = nullptr;  // [rows] p(i) of each row
  std::int64_t first_key = 0;               // j of the first key
  std::int64_t keys = 0;                    // at most 64
};

struct ScoreTile : TileRows {
  float* scores = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t key_stride = 0;
  float& at(std::int64_t row, std::int64_t key) const {
    return scores[row * row_stride + key * key_stride];
  }
};

struct MaskTile : TileRows {
  std::uint64_t* live = nullptr;  // [rows]; bit r stands for key first_key + r, 1 = may attend
  void hide(std::int64_t row, std::int64_t key) const { live[row] &= ~(std::uint64_t{1} << key); }
};

// The backward half of score_mod: `gradients` hold dLoss/d(its result), and are to be multiplied by
// d(its result)/d(its argument) in place. `scores` are the arguments.
struct ScoreGradientTile : TileRows {
  const float* scores = nullptr;
  float* gradients = nullptr;
  std::int64_t row_stride = 0;  // of both
  std::int64_t key_stride = 0;
  std::int64_t place(std::int64_t row, std::int64_t key) const {
    return row * row_stride + key * key_stride;
  }
};

// Callbacks must be pure: they run on several threads, more than once for a pair, or not at all for
// a hidden pair. A callback that throws stops the call, and the exception reaches the caller.
using ScoreMod = std::function<void(const ScoreTile&)>;
using MaskMod = std::function<void(const MaskTile&)>;
using ScoreModGradient = std::function<void(const ScoreGradientTile&)>;

// From f(float score, int64 b, int64 h, int64 p, int64 j) -> float.
template <class F>
ScoreMod score_mod(F f) {
  return [f](const ScoreTile& tile) {
    for (std::int64_t key = 0; key < tile.keys; ++key) {
      for (std::int64_t row = 0; row < tile.rows; ++row) {
        float& s = tile.at(row, key);
        s = f(s, tile.batch, tile.heads[row], tile.positions[row], tile.first_key + key);
      }
    }
  };
}

// From f(float score, int64 b, int64 h, int64 p, int64 j) -> float, the derivative of score_mod's
// result by its first argument.
template <class F>
ScoreModGradient score_mod_gradient(F f) {
  return [f](const ScoreGradientTile& tile) {
    for (std::int64_t key = 0; key < tile.keys; ++key) {
      for (std::int64_t row = 0; row < tile.rows; ++row) {
        const std::int64_t place = tile.place(row, key);
        tile.gradients[place] *= f(tile.scores[place], tile.batch, tile.heads[row],
                                   tile.positions[row], tile.first_key + key);
      }
    }
  };
}

// From f(int64 b, int64 h, int64 p, int64 j) -> bool, true = may attend.
template <class F>
MaskMod mask_mod(F f) {
  return [f](const MaskTile& tile) {
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      for (std::int64_t key = 0; key < tile.keys; ++key) {
        if (!f(tile.batch, tile.heads[row], tile.positions[row], tile.first_key + key)) {
          tile.hide(row, key);
        }
      }
    }
  };
}

// What mask_mod does to a whole rectangle of pairs, so that blocks can be skipped unseen.
enum class Visibility { kHidden, kMixed, kVisible };
struct MaskBlock {
  std::int64_t batch;
  std::int64_t head;
  std::int64_t first_position, last_position;  // both included
  std::int64_t first_key, last_key;            // both included
};
using BlockPredicate = std::function<Visibility(const MaskBlock&)>;

// Dropout of weights (Srivastava et al. 2014), the same pairs in every call with the same seed: the
// pair of query i of head h and key j has its own random word (Philox4x32-10 of j, p(i), h and the
// sequence's stream), so neither batch, chunks nor threads change it. A dropped key is left out of
// the weighted sum, not out of the softmax's; what is left is divided by 1 - probability.
struct Dropout {
  double probability = 0;  // 0 to 1
  std::uint64_t seed = 0;
  std::vector<std::int64_t> streams;  // one a sequence; default its number b
};

struct AttentionOptions {
  // -- The scores -------------------------------------------------------------------------------
  std::optional<double> scale;   // any finite number; default 1 / sqrt(d_qk), 1 if d_qk is 0
  std::optional<float> softcap;  // s = softcap * tanh(s / softcap); finite and > 0
  ScoreMod score_mod;
  ScoreModGradient score_mod_gradient;  // for gradients only, which need it if score_mod is given
  std::vector<float> alibi_slopes;      // one a query head: s - slope * |p - j|. See alibi_slopes()
  // float, broadcast to [B, Hq, Lq, Lk] like NumPy, added. A -inf hides a key of a finite score; it
  // can't keep out a NaN or Inf of the key, since NaN - inf is NaN: a mask or lengths can.
  TensorView bias;
  std::vector<float> sinks;  // one logit a query head, in the softmax's sum only; -inf: none

  std::optional<Dropout> dropout;  // weights that are asked for are those before it

  // -- Which keys a query sees (all that are given must agree) ------------------------------------
  bool causal = false;  // j <= p
  Window window;
  TensorView mask;  // bool, broadcast like bias, true = may attend. A float mask is the bias
  MaskMod mask_mod;
  BlockPredicate block_predicate;           // for mask_mod
  std::vector<std::int64_t> key_begin;      // [B] first live row of key and value; default 0
  std::vector<std::int64_t> key_lengths;    // [B] live keys from there on; default all
  std::vector<std::int64_t> query_lengths;  // [B] live queries; rows beyond give 0 and LSE -inf

  // Packed sequences: query [total_q, Hq, d_qk], key [total_k, Hkv, d_qk], value [total_k, Hkv,
  // d_v], lse [Hq, total_q]. Sequence b has rows cu_seqlens[b] to cu_seqlens[b + 1] - 1.
  std::vector<std::int64_t> query_cu_seqlens;  // [B + 1], from 0 to total_q
  std::vector<std::int64_t> key_cu_seqlens;    // [B + 1], from 0 to total_k

  // -- Positions ----------------------------------------------------------------------------------
  Alignment alignment = Alignment::kBottomRight;
  std::vector<std::int64_t> query_offset;  // one for all or [B]; takes the place of `alignment`

  Arithmetic arithmetic = Arithmetic::kByType;
};

// The slopes of the ALiBi paper (Press et al. 2022) for `heads` query heads:
// 2^(-8 h / n) for h = 1 to n if n is a power of two, else those of the power of two below n,
// followed by every other one of the power of two above it.
std::vector<float> alibi_slopes(std::int64_t heads);

struct ExecutionOptions {
  // Threads at most. 0: all of the oneTBB arena the call is made in, so that
  // arena.execute([&] { qkv::attention(...); }) keeps to that arena. The bits never depend on it.
  int threads = 0;
  Isa isa = Isa::kBest;
  // Set to true from any thread to stop; checked every few milliseconds of work (float64:
  // between rows; matmul: between tiles of rows).
  const std::atomic<bool>* cancel = nullptr;
  // Called with the share of the work that is done, 0 to 1, from one thread at a time.
  std::function<void(double)> progress;
  // Calls mask_mod also where block_predicate rules the block out, and fails with kInvalidArgument
  // if they disagree. Slow.
  bool check_block_predicate = false;
};

}  // namespace qkv

#endif  // QKV_OPTIONS_H_
