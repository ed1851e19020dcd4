// What tells attention where tokens are: sinusoidal positions (Vaswani et al. 2017) and Fourier
// features, added to tokens; rotary positions (Su et al. 2021), which turn queries and keys; T5's
// bias of relative positions (Raffel et al. 2020), added to scores. With sines, cosines, logarithms
// and powers of the library's own, so that they have the same bits on every machine
// (docs/arithmetic.md). ALiBi is an option of attention (qkv/options.h). Which to take:
// docs/positions.md.
//
//   qkv::Tensor code = qkv::sinusoidal_positions(0, 512, 64);  // added to 512 tokens of size 64
//   // Queries and keys [B, L, H, 128], turned in place:
//   qkv::RotaryTables t = qkv::rotary_tables(positions, qkv::rotary_frequencies(128));
//   qkv::rotate(q, t.cosines, t.sines, qkv::RotaryLayout::kHalves, q);
#ifndef QKV_POSITIONS_H_
#define QKV_POSITIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qkv/error.h"
#include "qkv/options.h"
#include "qkv/tensor.h"

namespace qkv {

// ---- Sinusoidal positions and Fourier features --------------------------------------------------

// base^(-2 i / d) for i = 0, 1, ..., as many as d has columns in pairs: (d + 1) / 2. To less than
// 1 ulp. d is 1 to 2^53, base finite and at least 1.
std::vector<double> sinusoidal_frequencies(std::int64_t d, double base = 10000);

// Row n of `out` is sin(x_n f_0), cos(x_n f_0), sin(x_n f_1), cos(x_n f_1), ... : float32
// [x, 2 frequencies], any strides, or without the last cosine [x, 2 frequencies - 1]. The angle is
// the product in double, rounded; its sine and cosine, to less than 1 ulp of double however large
// it is, are rounded to float32. x and frequencies must be finite, and so must their products.
void fourier_features(std::span<const double> x, std::span<const double> frequencies,
                      const MutableTensorView& out);

// The features of the positions first, first + 1, ... with sinusoidal_frequencies(d, base): float32
// [count, d]. Positions lie between -2^53 and 2^53.
Tensor sinusoidal_positions(std::int64_t first, std::int64_t count, std::int64_t d,
                            double base = 10000);

// ---- Rotary positions (RoPE) --------------------------------------------------------------------

// Which two of the first r columns of a head are pair i. A model needs the one it was trained with.
enum class RotaryLayout {
  kInterleaved,  // 2 i and 2 i + 1: the paper, GPT-J, Llama as Meta publishes it
  kHalves,       // i and i + r / 2: GPT-NeoX, and most models of Hugging Face
};

// How frequencies f_i = base^(-2 i / r) change for sequences `factor` times as long as those of the
// training. L is original_length; a pair turns L f_i / (2 pi) times over it.
enum class RotaryScaling {
  kNone,
  kLinear,  // f_i / factor: position interpolation (Chen et al. 2023)
  // base times factor^(r / (r - 2)), so the last frequency is divided by factor and the first one
  // is kept: "NTK-aware" (bloc97 2023), static.
  kNtk,
  // By parts (Peng et al. 2023), as the paper's program does it: f_i for pairs that turn beta_fast
  // times or more over L, f_i / factor for those that turn beta_slow times or less, between them a
  // ramp that is linear in i; and both tables times 0.1 log(factor) + 1.
  kYarn,
  // By parts like that, from high_factor to low_factor turns, with a ramp that is linear in the
  // turns, and tables as they are (Llama 3.1, 2024).
  kLlama3,
};

struct RotaryOptions {
  double base = 10000;  // finite, at least 1; kYarn needs more than 1
  RotaryScaling scaling = RotaryScaling::kNone;
  double factor = 1;                       // finite, at least 1; kNone needs 1
  std::int64_t original_length = 0;        // L, tokens; kYarn and kLlama3 need it
  double beta_fast = 32, beta_slow = 1;    // kYarn: fast > slow > 0
  bool whole_pairs = true;                 // kYarn: the ramp's ends are rounded outwards
  double low_factor = 1, high_factor = 4;  // kLlama3: high > low > 0
};

struct RotaryFrequencies {
  std::vector<double> values;  // the angle a position, one a pair
  double magnitude = 1;        // what cosines and sines are multiplied by
};

// r / 2 frequencies for r rotated columns, an even number from 2 to 2^53; r may be less than a
// head's size (partial rotary).
RotaryFrequencies rotary_frequencies(std::int64_t r, const RotaryOptions& options = {});

// cos(x f_i) and sin(x f_i) times the magnitude, float32 [L, r / 2] or [B, L, r / 2], for
// `positions` x, int64 [L] or [B, L] of any strides: any numbers in any order from -2^53 to 2^53.
// The angle is the product as it is, unrounded; its sine and cosine are rounded once, to float32.
struct RotaryTables {
  Tensor cosines, sines;
};
RotaryTables rotary_tables(const TensorView& positions, const RotaryFrequencies& frequencies);

// Pair (a, b) of each head to (a cos - b sin, b cos + a sin), with the cosine and sine of its token
// and pair. x and out are [B, L, H, d] or [L, H, d] of any strides (heads first: transposed(1, 2)),
// both float32, float16 or bfloat16; columns from r on are copied. The tables, float32 [L, r / 2]
// or one for each sequence [B, L, r / 2], may come from elsewhere too. `out` may be x itself.
void rotate(const TensorView& x, const TensorView& cosines, const TensorView& sines,
            RotaryLayout layout, const MutableTensorView& out,
            const ExecutionOptions& execution = {});

// From dLoss/dout to dLoss/dx: a rotation by the negative angles, times the same magnitude.
void rotate_gradient(const TensorView& d_out, const TensorView& cosines, const TensorView& sines,
                     RotaryLayout layout, const MutableTensorView& d_x,
                     const ExecutionOptions& execution = {});

// ---- A bias by relative position (T5) -----------------------------------------------------------

// Distances, key's position minus query's, share their bias in buckets: half of them are for one
// distance each, the others grow by a constant factor up to max_distance; all from there on share
// the last one.
struct RelativeBuckets {
  // Half of the buckets for keys after the query (encoders). Else those keys have bucket 0, and are
  // to be hidden by `causal` (decoders).
  bool bidirectional = true;
  std::int64_t buckets = 32;  // at least 2; bidirectional: even, at least 4
  std::int64_t max_distance = 128;
};

// As the paper's program computes it, in float32: its boundaries are those of trained models.
std::int64_t relative_position_bucket(std::int64_t distance, const RelativeBuckets& buckets = {});

// For AttentionOptions::bias: [heads, queries, keys] from a table, float32 [buckets, heads]. It has
// one number a head and distance, heads x (queries + keys - 1) of them, read with strides [.., -1,
// 1]. Query i is at i + query_offset, by default keys - queries (Alignment::kBottomRight).
Tensor relative_bias(const TensorView& table, std::int64_t queries, std::int64_t keys,
                     const RelativeBuckets& buckets = {},
                     std::optional<std::int64_t> query_offset = {});

// dLoss/dtable [buckets, heads] from dLoss/dbias [heads, queries, keys], float32: sums in double,
// of each distance over rising i, then of each bucket over rising distances, rounded once.
Tensor relative_bias_gradient(const TensorView& d_bias, const RelativeBuckets& buckets = {},
                              std::optional<std::int64_t> query_offset = {});

}  // namespace qkv

#endif  // QKV_POSITIONS_H_
