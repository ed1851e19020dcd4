// qkv in C, for learning how attention works: the steps of one row, positions, saturation.
//
// The rules of qkv.h hold here too. The C++ headers qkv/steps.h, qkv/positions.h and
// qkv/saturation.h say more.
#ifndef QKV_LEARN_H_
#define QKV_LEARN_H_

#include "qkv.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- The steps of one row -----------------------------------------------------------------------

// Every number between the inputs and the result of one query row, as the contract makes it, with
// the bits of qkv_attention(). From a scalar program: a long row takes milliseconds.
typedef struct qkv_steps qkv_steps;

// Row `row` of query head `head` of batch entry `batch`; packed: batch 0, and the row of the packed
// buffer. float64 is QKV_UNSUPPORTED. On failure *steps is NULL.
qkv_status qkv_steps_of(const qkv_attention_inputs* inputs, const qkv_attention_options* options,
                        int64_t batch, int64_t head, int64_t row, qkv_steps** steps);

// Filled by qkv_steps_describe(). The arrays live as long as the handle; those of no elements may
// be NULL. A state (m, l, O) is the largest score of some keys, the sum of exp(s - m), and the sums
// of exp(s - m) v; without a live key -inf, 0 and zeros.
typedef struct qkv_steps_description {
  uint32_t struct_size;
  int32_t has_sink;
  float sink;                  // its logit
  float keys_max, keys_sum;    // m and l of all keys
  float final_max, final_sum;  // and the sink
  float lse;                   // final m + log l
  int64_t sequence;
  int64_t position;  // p, the row's place among the keys
  int64_t d_v;
  int64_t key_count;    // keys that causality, window and lengths leave to the row
  int64_t block_count;  // blocks of at most 32 of them
  int64_t merge_count;  // one less than spans of 1024 that have some
  // Of each key, by rising j. One that mask, mask_mod or a score of -inf hides is not live, and its
  // numbers are 0.
  const int64_t* key_index;  // j, counted from its sequence's first key
  const int64_t* key_row;    // of the key buffer
  const int32_t* key_live;
  const float* key_dot;        // t = q . k
  const float* key_score;      // s, after scale, softcap, score_mod, ALiBi and bias
  const float* key_block_exp;  // exp(s - m'), m' the running maximum after its block
  const float* key_weight;     // exp(s - m) / l with the final m and l
  // Of each block. Every span starts anew, with m = -inf.
  const int64_t* block_first_key;  // j
  const int64_t* block_end_key;
  const int64_t* block_span;
  const float* block_max_before;  // m
  const float* block_max_after;   // m'
  const float* block_rescale;     // a = exp(m - m'); 1 if there was nothing to rescale
  const float* block_sum;         // L, the sum of the block's own block_exp
  const float* block_values;      // B [block_count, d_v], of block_exp times value
  const float* running_sum;       // l = l a + L
  const float* running_values;    // O [block_count, d_v] = O a + B
  // Of each merge of two nodes of the tree, spans [first, middle) and [middle, end), as it is done.
  const int64_t* merge_spans;  // [merge_count, 3]: first, middle, end
  const float* merge_max;      // [merge_count, 3]: m of the first node, of the second, of both
  const float* merge_sum;      // [merge_count, 3]: l
  const float* merge_values;   // [merge_count, 3, d_v]: O
  const float* keys_values;    // O [d_v] of all keys
  const float* final_values;   // O [d_v], with the sink
  const float* out;            // O / l [d_v]
} qkv_steps_description;
qkv_status qkv_steps_describe(const qkv_steps* steps, qkv_steps_description* description);
void qkv_steps_destroy(qkv_steps* steps);  // NULL is ignored

// ---- Positions ----------------------------------------------------------------------------------

// base^(-2 i / d) into frequencies[count], count = (d + 1) / 2. d is 1 to 2^53, base at least 1.
qkv_status qkv_sinusoidal_frequencies(int64_t d, double base, double* frequencies, int64_t count);
// sin(x f), cos(x f) for each frequency f in turn, a row for each x, into float32 `out` [x_count, 2
// frequency_count], or without the last cosine [x_count, 2 frequency_count - 1]. All must be
// finite.
qkv_status qkv_fourier_features(const double* x, int64_t x_count, const double* frequencies,
                                int64_t frequency_count, const qkv_tensor* out);
// The features of positions first, first + 1, ... with the frequencies of (d, base), into float32
// `out` [count, d].
qkv_status qkv_sinusoidal_positions(int64_t first, double base, const qkv_tensor* out);

// ---- Saturation ---------------------------------------------------------------------------------

// The Frobenius norm of the softmax's Jacobian diag(p) - p p^T of one row of weights p, each
// between 0 and 1. `sink_weight` is the share of a sink, exp(sink - lse), or 0.
qkv_status qkv_softmax_jacobian_norm(const float* weights, int64_t count, double sink_weight,
                                     double* norm);

// ---- Initialisers -------------------------------------------------------------------------------

static inline void qkv_steps_description_init(qkv_steps_description* description) {
  memset(description, 0, sizeof(*description));
  description->struct_size = sizeof(*description);
}

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // QKV_LEARN_H_
