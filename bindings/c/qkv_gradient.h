/* Gradients of attention from C, beside qkv.h, whose rules hold here too: see qkv/gradient.h.

     qkv_gradient_inputs inputs;
     qkv_gradient_inputs_init(&inputs);
     inputs.query = &query;  inputs.key = &key;  inputs.value = &value;  inputs.d_out = &d_out;
     qkv_gradient_outputs outputs;
     qkv_gradient_outputs_init(&outputs);
     outputs.d_query = &d_query;
     qkv_status status = qkv_attention_gradients(&inputs, &outputs, NULL, NULL);
*/
#ifndef QKV_GRADIENT_C_H_
#define QKV_GRADIENT_C_H_

#include "qkv.h"

#ifdef __cplusplus
extern "C" {
#endif

// For options.score_mod_gradient: gradients hold dLoss/d(its result), and are to be multiplied by
// d(its result)/d(its argument) in place. `scores` are the arguments.
struct qkv_score_gradient_tile {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t batch;
  int64_t rows;
  int64_t keys;
  int64_t first_key;
  const int64_t* heads;
  const int64_t* positions;
  const float* scores;  // [rows, keys] by the strides
  float* gradients;     // likewise
  int64_t row_stride;
  int64_t key_stride;
};
// From dLoss/dout to dLoss/dquery, ..., recomputed by blocks in O(n) memory.
typedef struct qkv_gradient_inputs {
  uint32_t struct_size;
  uint32_t reserved;
  const qkv_tensor* query;  // those of the forward call
  const qkv_tensor* key;
  const qkv_tensor* value;
  const qkv_tensor* d_out;  // in out's shape; any strides, 0 too. NULL: zeros
  const qkv_tensor* d_lse;  // in lse's shape, float32. NULL: zeros
  // What the forward call gave, in float32: out, and row_max and row_sum, or in their place lse
  // (other bits: the weights then carry its rounding). All NULL: computed again.
  const qkv_tensor* out;
  const qkv_tensor* row_max;
  const qkv_tensor* row_sum;
  const qkv_tensor* lse;
} qkv_gradient_inputs;

// Each may be NULL. They must not overlap inputs, each other or themselves.
typedef struct qkv_gradient_outputs {
  uint32_t struct_size;
  uint32_t reserved;
  const qkv_tensor* d_query;  // in the shapes of query, key and value; float32 or a type of theirs
  const qkv_tensor* d_key;
  const qkv_tensor* d_value;
  const qkv_tensor* d_bias;   // in the shape of the bias, float32, summed where it was broadcast
  const qkv_tensor* d_sinks;  // [Hq] float32
} qkv_gradient_outputs;

// `options` are those of the forward call.
qkv_status qkv_attention_gradients(const qkv_gradient_inputs* inputs,
                                   const qkv_gradient_outputs* outputs,
                                   const qkv_attention_options* options,
                                   const qkv_execution* execution);

// Planned once and run many times, as qkv_plan.
typedef struct qkv_gradient_plan qkv_gradient_plan;
qkv_status qkv_gradient_plan_create(const qkv_gradient_inputs* inputs,
                                    const qkv_gradient_outputs* outputs,
                                    const qkv_attention_options* options,
                                    const qkv_execution* execution, qkv_gradient_plan** plan);
qkv_status qkv_gradient_plan_describe(const qkv_gradient_plan* plan,
                                      qkv_plan_description* description);
qkv_status qkv_gradient_plan_run(qkv_gradient_plan* plan, void* workspace, int64_t workspace_bytes);
void qkv_gradient_plan_destroy(qkv_gradient_plan* plan);  // NULL is ignored

// out [..., M, N] = a [..., R, M] transposed times b [..., R, N], as a sum over rows: blocks of 32
// rows, blocks of 1024, and those as a binary tree.
qkv_status qkv_matmul_over_rows(const qkv_tensor* a, const qkv_tensor* b, const qkv_tensor* out,
                                const qkv_execution* execution);

// Everything 0 but the size.
static inline void qkv_gradient_inputs_init(qkv_gradient_inputs* s) {
  memset(s, 0, sizeof(*s));
  s->struct_size = sizeof(*s);
}
static inline void qkv_gradient_outputs_init(qkv_gradient_outputs* s) {
  memset(s, 0, sizeof(*s));
  s->struct_size = sizeof(*s);
}

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // QKV_GRADIENT_C_H_
