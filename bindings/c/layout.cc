// Where the fields of the structs lie: for 64-bit machines, and for wasm32.
#include <cstddef>

#include "qkv_gradient.h"
#include "qkv_learn.h"
#include "qkv_train.h"

#if UINTPTR_MAX > 0xffffffffu || defined(__wasm32__)

namespace {
constexpr bool kWide = sizeof(void*) == 8;
}  // namespace

#define QKV_AT(type, field, wide, narrow) \
  static_assert(offsetof(type, field) == (kWide ? wide : narrow))
#define QKV_SIZE(type, wide, narrow) static_assert(sizeof(type) == (kWide ? wide : narrow))

QKV_AT(qkv_tensor, data, 0, 0);
QKV_AT(qkv_tensor, dtype, 8, 4);
QKV_AT(qkv_tensor, rank, 12, 8);
QKV_AT(qkv_tensor, extents, 16, 16);
QKV_AT(qkv_tensor, strides, 48, 48);
QKV_SIZE(qkv_tensor, 80, 80);

QKV_AT(qkv_contract, struct_size, 0, 0);
QKV_AT(qkv_contract, version, 4, 4);
QKV_AT(qkv_contract, block, 8, 8);
QKV_AT(qkv_contract, span, 16, 16);
QKV_AT(qkv_contract, group, 24, 24);
QKV_AT(qkv_contract, name, 32, 32);
QKV_SIZE(qkv_contract, 40, 40);

QKV_AT(qkv_attention_inputs, struct_size, 0, 0);
QKV_AT(qkv_attention_inputs, reserved, 4, 4);
QKV_AT(qkv_attention_inputs, query, 8, 8);
QKV_AT(qkv_attention_inputs, key, 16, 12);
QKV_AT(qkv_attention_inputs, value, 24, 16);
QKV_SIZE(qkv_attention_inputs, 32, 20);

QKV_AT(qkv_attention_outputs, struct_size, 0, 0);
QKV_AT(qkv_attention_outputs, reserved, 4, 4);
QKV_AT(qkv_attention_outputs, out, 8, 8);
QKV_AT(qkv_attention_outputs, lse, 16, 12);
QKV_AT(qkv_attention_outputs, weights, 24, 16);
QKV_AT(qkv_attention_outputs, heads, 32, 20);
QKV_AT(qkv_attention_outputs, head_count, 40, 24);
QKV_AT(qkv_attention_outputs, rows, 48, 32);
QKV_AT(qkv_attention_outputs, row_count, 56, 40);
QKV_AT(qkv_attention_outputs, row_max, 64, 48);
QKV_AT(qkv_attention_outputs, row_sum, 72, 52);
QKV_SIZE(qkv_attention_outputs, 80, 56);

QKV_AT(qkv_score_tile, struct_size, 0, 0);
QKV_AT(qkv_score_tile, reserved, 4, 4);
QKV_AT(qkv_score_tile, batch, 8, 8);
QKV_AT(qkv_score_tile, rows, 16, 16);
QKV_AT(qkv_score_tile, keys, 24, 24);
QKV_AT(qkv_score_tile, first_key, 32, 32);
QKV_AT(qkv_score_tile, heads, 40, 40);
QKV_AT(qkv_score_tile, positions, 48, 44);
QKV_AT(qkv_score_tile, scores, 56, 48);
QKV_AT(qkv_score_tile, row_stride, 64, 56);
QKV_AT(qkv_score_tile, key_stride, 72, 64);
QKV_SIZE(qkv_score_tile, 80, 72);

QKV_AT(qkv_mask_tile, struct_size, 0, 0);
QKV_AT(qkv_mask_tile, reserved, 4, 4);
QKV_AT(qkv_mask_tile, batch, 8, 8);
QKV_AT(qkv_mask_tile, rows, 16, 16);
QKV_AT(qkv_mask_tile, keys, 24, 24);
QKV_AT(qkv_mask_tile, first_key, 32, 32);
QKV_AT(qkv_mask_tile, heads, 40, 40);
QKV_AT(qkv_mask_tile, positions, 48, 44);
QKV_AT(qkv_mask_tile, live, 56, 48);
QKV_SIZE(qkv_mask_tile, 64, 56);

QKV_AT(qkv_mask_block, struct_size, 0, 0);
QKV_AT(qkv_mask_block, reserved, 4, 4);
QKV_AT(qkv_mask_block, batch, 8, 8);
QKV_AT(qkv_mask_block, head, 16, 16);
QKV_AT(qkv_mask_block, first_position, 24, 24);
QKV_AT(qkv_mask_block, last_position, 32, 32);
QKV_AT(qkv_mask_block, first_key, 40, 40);
QKV_AT(qkv_mask_block, last_key, 48, 48);
QKV_SIZE(qkv_mask_block, 56, 56);

QKV_AT(qkv_attention_options, struct_size, 0, 0);
QKV_AT(qkv_attention_options, causal, 4, 4);
QKV_AT(qkv_attention_options, scale, 8, 8);
QKV_AT(qkv_attention_options, has_scale, 16, 16);
QKV_AT(qkv_attention_options, has_softcap, 20, 20);
QKV_AT(qkv_attention_options, softcap, 24, 24);
QKV_AT(qkv_attention_options, has_window, 28, 28);
QKV_AT(qkv_attention_options, window_left, 32, 32);
QKV_AT(qkv_attention_options, window_right, 40, 40);
QKV_AT(qkv_attention_options, alignment, 48, 48);
QKV_AT(qkv_attention_options, arithmetic, 52, 52);
QKV_AT(qkv_attention_options, bias, 56, 56);
QKV_AT(qkv_attention_options, mask, 64, 60);
QKV_AT(qkv_attention_options, score_mod, 72, 64);
QKV_AT(qkv_attention_options, score_mod_context, 80, 68);
QKV_AT(qkv_attention_options, mask_mod, 88, 72);
QKV_AT(qkv_attention_options, mask_mod_context, 96, 76);
QKV_AT(qkv_attention_options, block_predicate, 104, 80);
QKV_AT(qkv_attention_options, block_predicate_context, 112, 84);
QKV_AT(qkv_attention_options, alibi_slopes, 120, 88);
QKV_AT(qkv_attention_options, alibi_slope_count, 128, 96);
QKV_AT(qkv_attention_options, sinks, 136, 104);
QKV_AT(qkv_attention_options, sink_count, 144, 112);
QKV_AT(qkv_attention_options, key_begin, 152, 120);
QKV_AT(qkv_attention_options, key_begin_count, 160, 128);
QKV_AT(qkv_attention_options, key_lengths, 168, 136);
QKV_AT(qkv_attention_options, key_length_count, 176, 144);
QKV_AT(qkv_attention_options, query_lengths, 184, 152);
QKV_AT(qkv_attention_options, query_length_count, 192, 160);
QKV_AT(qkv_attention_options, query_cu_seqlens, 200, 168);
QKV_AT(qkv_attention_options, query_cu_seqlen_count, 208, 176);
QKV_AT(qkv_attention_options, key_cu_seqlens, 216, 184);
QKV_AT(qkv_attention_options, key_cu_seqlen_count, 224, 192);
QKV_AT(qkv_attention_options, query_offset, 232, 200);
QKV_AT(qkv_attention_options, query_offset_count, 240, 208);
QKV_AT(qkv_attention_options, dropout, 248, 216);
QKV_AT(qkv_attention_options, dropout_seed, 256, 224);
QKV_AT(qkv_attention_options, dropout_streams, 264, 232);
QKV_AT(qkv_attention_options, dropout_stream_count, 272, 240);
QKV_AT(qkv_attention_options, score_mod_gradient, 280, 248);
QKV_AT(qkv_attention_options, score_mod_gradient_context, 288, 252);
QKV_SIZE(qkv_attention_options, 296, 256);

QKV_AT(qkv_execution, struct_size, 0, 0);
QKV_AT(qkv_execution, threads, 4, 4);
QKV_AT(qkv_execution, isa, 8, 8);
QKV_AT(qkv_execution, check_block_predicate, 12, 12);
QKV_AT(qkv_execution, cancel, 16, 16);
QKV_AT(qkv_execution, progress, 24, 20);
QKV_AT(qkv_execution, progress_context, 32, 24);
QKV_SIZE(qkv_execution, 40, 28);

QKV_AT(qkv_plan_description, struct_size, 0, 0);
QKV_AT(qkv_plan_description, isa, 4, 4);
QKV_AT(qkv_plan_description, threads, 8, 8);
QKV_AT(qkv_plan_description, reserved, 12, 12);
QKV_AT(qkv_plan_description, tasks, 16, 16);
QKV_AT(qkv_plan_description, rows_per_tile, 24, 24);
QKV_AT(qkv_plan_description, workspace_bytes, 32, 32);
QKV_AT(qkv_plan_description, weights_bytes, 40, 40);
QKV_AT(qkv_plan_description, kernel, 48, 48);
QKV_SIZE(qkv_plan_description, 56, 56);

QKV_AT(qkv_steps_description, struct_size, 0, 0);
QKV_AT(qkv_steps_description, has_sink, 4, 4);
QKV_AT(qkv_steps_description, sink, 8, 8);
QKV_AT(qkv_steps_description, keys_max, 12, 12);
QKV_AT(qkv_steps_description, keys_sum, 16, 16);
QKV_AT(qkv_steps_description, final_max, 20, 20);
QKV_AT(qkv_steps_description, final_sum, 24, 24);
QKV_AT(qkv_steps_description, lse, 28, 28);
QKV_AT(qkv_steps_description, sequence, 32, 32);
QKV_AT(qkv_steps_description, position, 40, 40);
QKV_AT(qkv_steps_description, d_v, 48, 48);
QKV_AT(qkv_steps_description, key_count, 56, 56);
QKV_AT(qkv_steps_description, block_count, 64, 64);
QKV_AT(qkv_steps_description, merge_count, 72, 72);
QKV_AT(qkv_steps_description, key_index, 80, 80);
QKV_AT(qkv_steps_description, key_row, 88, 84);
QKV_AT(qkv_steps_description, key_live, 96, 88);
QKV_AT(qkv_steps_description, key_dot, 104, 92);
QKV_AT(qkv_steps_description, key_score, 112, 96);
QKV_AT(qkv_steps_description, key_block_exp, 120, 100);
QKV_AT(qkv_steps_description, key_weight, 128, 104);
QKV_AT(qkv_steps_description, block_first_key, 136, 108);
QKV_AT(qkv_steps_description, block_end_key, 144, 112);
QKV_AT(qkv_steps_description, block_span, 152, 116);
QKV_AT(qkv_steps_description, block_max_before, 160, 120);
QKV_AT(qkv_steps_description, block_max_after, 168, 124);
QKV_AT(qkv_steps_description, block_rescale, 176, 128);
QKV_AT(qkv_steps_description, block_sum, 184, 132);
QKV_AT(qkv_steps_description, block_values, 192, 136);
QKV_AT(qkv_steps_description, running_sum, 200, 140);
QKV_AT(qkv_steps_description, running_values, 208, 144);
QKV_AT(qkv_steps_description, merge_spans, 216, 148);
QKV_AT(qkv_steps_description, merge_max, 224, 152);
QKV_AT(qkv_steps_description, merge_sum, 232, 156);
QKV_AT(qkv_steps_description, merge_values, 240, 160);
QKV_AT(qkv_steps_description, keys_values, 248, 164);
QKV_AT(qkv_steps_description, final_values, 256, 168);
QKV_AT(qkv_steps_description, out, 264, 172);
QKV_SIZE(qkv_steps_description, 272, 176);

QKV_AT(qkv_gradient_inputs, struct_size, 0, 0);
QKV_AT(qkv_gradient_inputs, reserved, 4, 4);
QKV_AT(qkv_gradient_inputs, query, 8, 8);
QKV_AT(qkv_gradient_inputs, key, 16, 12);
QKV_AT(qkv_gradient_inputs, value, 24, 16);
QKV_AT(qkv_gradient_inputs, d_out, 32, 20);
QKV_AT(qkv_gradient_inputs, d_lse, 40, 24);
QKV_AT(qkv_gradient_inputs, out, 48, 28);
QKV_AT(qkv_gradient_inputs, row_max, 56, 32);
QKV_AT(qkv_gradient_inputs, row_sum, 64, 36);
QKV_AT(qkv_gradient_inputs, lse, 72, 40);
QKV_SIZE(qkv_gradient_inputs, 80, 44);

QKV_AT(qkv_gradient_outputs, struct_size, 0, 0);
QKV_AT(qkv_gradient_outputs, reserved, 4, 4);
QKV_AT(qkv_gradient_outputs, d_query, 8, 8);
QKV_AT(qkv_gradient_outputs, d_key, 16, 12);
QKV_AT(qkv_gradient_outputs, d_value, 24, 16);
QKV_AT(qkv_gradient_outputs, d_bias, 32, 20);
QKV_AT(qkv_gradient_outputs, d_sinks, 40, 24);
QKV_SIZE(qkv_gradient_outputs, 48, 28);

QKV_AT(qkv_score_gradient_tile, struct_size, 0, 0);
QKV_AT(qkv_score_gradient_tile, reserved, 4, 4);
QKV_AT(qkv_score_gradient_tile, batch, 8, 8);
QKV_AT(qkv_score_gradient_tile, rows, 16, 16);
QKV_AT(qkv_score_gradient_tile, keys, 24, 24);
QKV_AT(qkv_score_gradient_tile, first_key, 32, 32);
QKV_AT(qkv_score_gradient_tile, heads, 40, 40);
QKV_AT(qkv_score_gradient_tile, positions, 48, 44);
QKV_AT(qkv_score_gradient_tile, scores, 56, 48);
QKV_AT(qkv_score_gradient_tile, gradients, 64, 52);
QKV_AT(qkv_score_gradient_tile, row_stride, 72, 56);
QKV_AT(qkv_score_gradient_tile, key_stride, 80, 64);
QKV_SIZE(qkv_score_gradient_tile, 88, 72);

QKV_AT(qkv_point_evaluation, struct_size, 0, 0);
QKV_AT(qkv_point_evaluation, reserved, 4, 4);
QKV_AT(qkv_point_evaluation, accuracy, 8, 8);
QKV_AT(qkv_point_evaluation, near, 16, 16);
QKV_AT(qkv_point_evaluation, alike, 32, 32);
QKV_AT(qkv_point_evaluation, accuracy_without, 48, 48);
QKV_SIZE(qkv_point_evaluation, 64, 64);

#endif
