// Attention in C: one query, three keys, three values.
//
//   [[0.14 0.284 0.576]]
//   [4.28, 5.72]
#include <qkv.h>
#include <stdio.h>

int main(void) {
  const float q[] = {1, 2};
  const float k[] = {1, 0, 0, 1, 1, 1};
  const float v[] = {10, 0, 0, 10, 5, 5};
  float out[2], weights[3];

  qkv_tensor query, key, value, out_tensor, weights_tensor;
  qkv_tensor_init(&query, q, QKV_FLOAT32, 2, (int64_t[]){1, 2});
  qkv_tensor_init(&key, k, QKV_FLOAT32, 2, (int64_t[]){3, 2});
  qkv_tensor_init(&value, v, QKV_FLOAT32, 2, (int64_t[]){3, 2});
  qkv_tensor_init(&out_tensor, out, QKV_FLOAT32, 2, (int64_t[]){1, 2});
  qkv_tensor_init(&weights_tensor, weights, QKV_FLOAT32, 2, (int64_t[]){1, 3});

  qkv_attention_inputs inputs;
  qkv_attention_inputs_init(&inputs);
  inputs.query = &query;
  inputs.key = &key;
  inputs.value = &value;
  qkv_attention_outputs outputs;
  qkv_attention_outputs_init(&outputs);
  outputs.out = &out_tensor;
  outputs.weights = &weights_tensor;

  if (qkv_attention(&inputs, &outputs, NULL, NULL) != QKV_OK) {
    fprintf(stderr, "%s\n", qkv_last_error());
    return 1;
  }
  printf("[[%.3g %.3g %.3g]]\n", weights[0], weights[1], weights[2]);
  printf("[%.3g, %.3g]\n", out[0], out[1]);
  return 0;
}
