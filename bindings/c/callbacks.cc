#include "callbacks.h"

#include <string>

namespace qkv::c {

Status CallbackRecord::status_of(Status status) const {
  if (!failed()) return status;
  return {StatusCode::kCallbackFailed, std::string(name_) + ": it returned " +
                                           std::to_string(result_) +
                                           " and so stopped the call; the outputs are unspecified"};
}

ScoreMod to_score_mod(qkv_score_mod function, void* context, CallbackRecord& record) {
  if (function == nullptr) return {};
  return [function, context, &record](const ScoreTile& tile) {
    if (record.failed()) return;
    const qkv_score_tile in_c = {
        sizeof(in_c),   0,          tile.batch,     tile.rows,   tile.keys,
        tile.first_key, tile.heads, tile.positions, tile.scores, tile.row_stride,
        tile.key_stride};
    if (const std::int32_t result = function(context, &in_c); result != 0) {
      record.fail("score_mod", result);
    }
  };
}

ScoreModGradient to_score_mod_gradient(qkv_score_mod_gradient function, void* context,
                                       CallbackRecord& record) {
  if (function == nullptr) return {};
  return [function, context, &record](const ScoreGradientTile& tile) {
    if (record.failed()) return;
    const qkv_score_gradient_tile in_c = {sizeof(in_c),    0,
                                          tile.batch,      tile.rows,
                                          tile.keys,       tile.first_key,
                                          tile.heads,      tile.positions,
                                          tile.scores,     tile.gradients,
                                          tile.row_stride, tile.key_stride};
    if (const std::int32_t result = function(context, &in_c); result != 0) {
      record.fail("score_mod_gradient", result);
    }
  };
}

MaskMod to_mask_mod(qkv_mask_mod function, void* context, CallbackRecord& record) {
  if (function == nullptr) return {};
  return [function, context, &record](const MaskTile& tile) {
    if (record.failed()) return;
    const qkv_mask_tile in_c = {sizeof(in_c),   0,          tile.batch,     tile.rows, tile.keys,
                                tile.first_key, tile.heads, tile.positions, tile.live};
    if (const std::int32_t result = function(context, &in_c); result != 0) {
      record.fail("mask_mod", result);
    }
  };
}

BlockPredicate to_block_predicate(qkv_block_predicate function, void* context,
                                  CallbackRecord& record) {
  if (function == nullptr) return {};
  return [function, context, &record](const MaskBlock& block) {
    if (record.failed()) return Visibility::kHidden;
    const qkv_mask_block in_c = {sizeof(in_c),         0,
                                 block.batch,          block.head,
                                 block.first_position, block.last_position,
                                 block.first_key,      block.last_key};
    switch (const std::int32_t result = function(context, &in_c)) {
      case QKV_HIDDEN:
        return Visibility::kHidden;
      case QKV_MIXED:
        return Visibility::kMixed;
      case QKV_VISIBLE:
        return Visibility::kVisible;
      default:
        record.fail("block_predicate", result);
        return Visibility::kHidden;
    }
  };
}

std::function<void(double)> to_progress(qkv_progress function, void* context,
                                        CallbackRecord& record) {
  if (function == nullptr) return {};
  return [function, context, &record](double share) {
    if (record.failed()) return;
    if (const std::int32_t result = function(context, share); result != 0) {
      record.fail("progress", result);
    }
  };
}

}  // namespace qkv::c
