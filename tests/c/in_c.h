// The C++ library's arguments as those of qkv.h, so that one problem goes through both.
#ifndef QKV_TESTS_C_IN_C_H_
#define QKV_TESTS_C_IN_C_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <qkv_gradient.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "qkv/attention.h"

// A call that must succeed, or fail with a code and a message that has a part in it.
#define EXPECT_OK(call) EXPECT_EQ((call), QKV_OK) << qkv_last_error()
#define EXPECT_FAILS(call, code, part)                                  \
  do {                                                                  \
    EXPECT_EQ((call), (code)) << qkv_last_error();                      \
    EXPECT_THAT(qkv_last_error(), ::testing::HasSubstr(part)) << #call; \
  } while (0)

namespace qkv::test {

inline qkv_tensor tensor_in_c(const void* data, DType dtype,
                              std::initializer_list<std::int64_t> shape) {
  qkv_tensor tensor;
  qkv_tensor_init(&tensor, data, static_cast<std::int32_t>(dtype),
                  static_cast<std::int32_t>(shape.size()), shape.begin());
  return tensor;
}

// Holds the structs, which point to each other and into the given C++ arguments.
class InC {
 public:
  InC(const AttentionInputs& in, const AttentionOutputs& out, const AttentionOptions& what = {},
      const ExecutionOptions& how = {})
      : what_(what), how_(how) {
    qkv_attention_inputs_init(&inputs);
    inputs.query = set(query, in.query);
    inputs.key = set(key, in.key);
    inputs.value = set(value, in.value);
    qkv_attention_outputs_init(&outputs);
    outputs.out = set(out_, out.out);
    outputs.lse = set(lse, out.lse);
    outputs.weights = set(weights, out.weights);
    outputs.row_max = set(row_max, out.row_max);
    outputs.row_sum = set(row_sum, out.row_sum);
    heads_ = out.selection.heads;
    rows_ = out.selection.rows;
    set(outputs.heads, outputs.head_count, heads_);
    set(outputs.rows, outputs.row_count, rows_);
    set_options();
    set_execution();
  }
  InC(const InC&) = delete;

  qkv_attention_inputs inputs;
  qkv_attention_outputs outputs;
  qkv_attention_options options;
  qkv_execution execution;
  qkv_tensor query, key, value, out_, lse, weights, row_max, row_sum, bias, mask;

  static const qkv_tensor* set(qkv_tensor& tensor, const TensorView& view) {
    tensor = {};
    if (!view.defined()) return nullptr;
    tensor.data = const_cast<void*>(view.data);
    tensor.dtype = static_cast<std::int32_t>(view.dtype);
    tensor.rank = view.rank;
    for (int axis = 0; axis < view.rank && axis < kMaxRank; ++axis) {
      tensor.extents[axis] = view.extents[axis];
      tensor.strides[axis] = view.strides[axis];
    }
    return &tensor;
  }

 private:
  template <class T>
  static void set(const T*& data, std::int64_t& count, const std::vector<T>& values) {
    data = values.empty() ? nullptr : values.data();
    count = static_cast<std::int64_t>(values.size());
  }

  void set_options() {
    qkv_attention_options_init(&options);
    options.causal = what_.causal;
    options.has_scale = what_.scale.has_value();
    options.scale = what_.scale.value_or(0);
    options.has_softcap = what_.softcap.has_value();
    options.softcap = what_.softcap.value_or(0);
    options.has_window = what_.window.left.has_value() || what_.window.right.has_value();
    options.window_left = what_.window.left.value_or(-1);
    options.window_right = what_.window.right.value_or(-1);
    options.alignment = static_cast<std::int32_t>(what_.alignment);
    options.arithmetic = static_cast<std::int32_t>(what_.arithmetic);
    options.bias = set(bias, what_.bias);
    options.mask = set(mask, what_.mask);
    options.score_mod = what_.score_mod ? call_score_mod : nullptr;
    options.score_mod_context = &what_.score_mod;
    options.mask_mod = what_.mask_mod ? call_mask_mod : nullptr;
    options.mask_mod_context = &what_.mask_mod;
    options.block_predicate = what_.block_predicate ? call_block_predicate : nullptr;
    options.block_predicate_context = &what_.block_predicate;
    set(options.alibi_slopes, options.alibi_slope_count, what_.alibi_slopes);
    set(options.sinks, options.sink_count, what_.sinks);
    set(options.key_begin, options.key_begin_count, what_.key_begin);
    set(options.key_lengths, options.key_length_count, what_.key_lengths);
    set(options.query_lengths, options.query_length_count, what_.query_lengths);
    set(options.query_cu_seqlens, options.query_cu_seqlen_count, what_.query_cu_seqlens);
    set(options.key_cu_seqlens, options.key_cu_seqlen_count, what_.key_cu_seqlens);
    set(options.query_offset, options.query_offset_count, what_.query_offset);
    if (what_.dropout) {
      options.dropout = what_.dropout->probability;
      options.dropout_seed = what_.dropout->seed;
      set(options.dropout_streams, options.dropout_stream_count, what_.dropout->streams);
    }
    options.score_mod_gradient = what_.score_mod_gradient ? call_score_mod_gradient : nullptr;
    options.score_mod_gradient_context = &what_.score_mod_gradient;
  }

  void set_execution() {
    qkv_execution_init(&execution);
    execution.threads = how_.threads;
    execution.isa = static_cast<std::int32_t>(how_.isa);
    execution.check_block_predicate = how_.check_block_predicate;
    execution.progress = how_.progress ? call_progress : nullptr;
    execution.progress_context = &how_.progress;
  }

  static std::int32_t call_score_mod(void* context, const qkv_score_tile* in_c) {
    EXPECT_EQ(in_c->struct_size, sizeof(*in_c));
    ScoreTile tile;
    tile.batch = in_c->batch;
    tile.rows = in_c->rows;
    tile.heads = in_c->heads;
    tile.positions = in_c->positions;
    tile.first_key = in_c->first_key;
    tile.keys = in_c->keys;
    tile.scores = in_c->scores;
    tile.row_stride = in_c->row_stride;
    tile.key_stride = in_c->key_stride;
    (*static_cast<const ScoreMod*>(context))(tile);
    return 0;
  }
  static std::int32_t call_score_mod_gradient(void* context, const qkv_score_gradient_tile* in_c) {
    EXPECT_EQ(in_c->struct_size, sizeof(*in_c));
    ScoreGradientTile tile;
    tile.batch = in_c->batch;
    tile.rows = in_c->rows;
    tile.heads = in_c->heads;
    tile.positions = in_c->positions;
    tile.first_key = in_c->first_key;
    tile.keys = in_c->keys;
    tile.scores = in_c->scores;
    tile.gradients = in_c->gradients;
    tile.row_stride = in_c->row_stride;
    tile.key_stride = in_c->key_stride;
    (*static_cast<const ScoreModGradient*>(context))(tile);
    return 0;
  }
  static std::int32_t call_mask_mod(void* context, const qkv_mask_tile* in_c) {
    EXPECT_EQ(in_c->struct_size, sizeof(*in_c));
    MaskTile tile;
    tile.batch = in_c->batch;
    tile.rows = in_c->rows;
    tile.heads = in_c->heads;
    tile.positions = in_c->positions;
    tile.first_key = in_c->first_key;
    tile.keys = in_c->keys;
    tile.live = in_c->live;
    (*static_cast<const MaskMod*>(context))(tile);
    return 0;
  }
  static std::int32_t call_block_predicate(void* context, const qkv_mask_block* in_c) {
    EXPECT_EQ(in_c->struct_size, sizeof(*in_c));
    const MaskBlock block{in_c->batch,         in_c->head,      in_c->first_position,
                          in_c->last_position, in_c->first_key, in_c->last_key};
    return static_cast<std::int32_t>((*static_cast<const BlockPredicate*>(context))(block));
  }
  static std::int32_t call_progress(void* context, double share) {
    (*static_cast<const std::function<void(double)>*>(context))(share);
    return 0;
  }

  AttentionOptions what_;
  ExecutionOptions how_;
  std::vector<std::int64_t> heads_, rows_;
};

}  // namespace qkv::test

#endif  // QKV_TESTS_C_IN_C_H_
