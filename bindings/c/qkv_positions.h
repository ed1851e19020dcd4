/* Rotary positions and T5's bias from C, beside qkv.h, whose rules hold here too: see
   qkv/positions.h. Sinusoidal positions are in qkv_learn.h, ALiBi is in qkv_attention_options.

     qkv_rotary_frequencies(128, NULL, frequencies, 64, &magnitude);
     qkv_rotary_tables(&positions, frequencies, 64, magnitude, &cosines, &sines);
     qkv_rotate(&query, &cosines, &sines, QKV_ROTARY_HALVES, &query, NULL);
*/
#ifndef QKV_POSITIONS_C_H_
#define QKV_POSITIONS_C_H_

#include "qkv.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Rotary positions ---------------------------------------------------------------------------

// Which two of the r rotated columns of a head are pair i.
enum {
  QKV_ROTARY_INTERLEAVED = 0,  // 2 i and 2 i + 1
  QKV_ROTARY_HALVES = 1        // i and i + r / 2
};

// How frequencies change for sequences longer than those of the training: see RotaryScaling.
enum {
  QKV_ROTARY_NONE = 0,
  QKV_ROTARY_LINEAR = 1,
  QKV_ROTARY_NTK = 2,
  QKV_ROTARY_YARN = 3,
  QKV_ROTARY_LLAMA3 = 4
};

// A field that is 0 has the default in parentheses.
typedef struct qkv_rotary_options {
  uint32_t struct_size;
  int32_t scaling;
  double base;                     // (10000) at least 1
  double factor;                   // (1) at least 1
  int64_t original_length;         // tokens; YaRN and Llama 3 need it
  double beta_fast, beta_slow;     // (32, 1) YaRN
  double low_factor, high_factor;  // (1, 4) Llama 3
  int32_t parts_of_pairs;          // YaRN: 1 leaves the ramp's ends between pairs, 0 rounds them
  uint32_t reserved;
} qkv_rotary_options;

// Into frequencies[count], count = r / 2, and *magnitude, what tables are to be multiplied by. r is
// even, from 2 on.
qkv_status qkv_rotary_frequencies(int64_t r, const qkv_rotary_options* options, double* frequencies,
                                  int64_t count, double* magnitude);
// For positions, int64 [L] or [B, L], from -2^53 to 2^53: float32 [L, count] or [B, L, count].
qkv_status qkv_rotary_tables(const qkv_tensor* positions, const double* frequencies, int64_t count,
                             double magnitude, const qkv_tensor* cosines, const qkv_tensor* sines);
// Heads x [B, L, H, d] or [L, H, d] turned into `out`, which may be x: float32, float16, bfloat16.
qkv_status qkv_rotate(const qkv_tensor* x, const qkv_tensor* cosines, const qkv_tensor* sines,
                      int32_t layout, const qkv_tensor* out, const qkv_execution* execution);
// From dLoss/dout to dLoss/dx.
qkv_status qkv_rotate_gradient(const qkv_tensor* d_out, const qkv_tensor* cosines,
                               const qkv_tensor* sines, int32_t layout, const qkv_tensor* d_x,
                               const qkv_execution* execution);

// ---- A bias by relative position ----------------------------------------------------------------

// T5's bucket of a distance, the key's position minus the query's.
qkv_status qkv_relative_position_bucket(int64_t distance, int32_t bidirectional, int64_t buckets,
                                        int64_t max_distance, int64_t* bucket);

// ---- Initialiser --------------------------------------------------------------------------------

static inline void qkv_rotary_options_init(qkv_rotary_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
}

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // QKV_POSITIONS_C_H_
