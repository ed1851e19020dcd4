// Callbacks in C as the engine's callbacks. Nothing here throws.
#ifndef QKV_BINDINGS_C_CALLBACKS_H_
#define QKV_BINDINGS_C_CALLBACKS_H_

#include <atomic>
#include <cstdint>

#include "qkv/options.h"
#include "qkv/status.h"
#include "qkv_gradient.h"

namespace qkv::c {

// Keeps the first failure of a run's callbacks; once there is one, they are not called again.
class CallbackRecord {
 public:
  CallbackRecord() = default;
  CallbackRecord(const CallbackRecord&) = delete;

  // Before each run.
  void reset() {
    claimed_ = false;
    failed_ = false;
  }
  bool failed() const { return failed_; }
  // For the engine, to stop a run.
  const std::atomic<bool>* stop() const { return &failed_; }
  // `name` is a literal.
  void fail(const char* name, std::int32_t result) {
    if (claimed_.exchange(true)) return;
    name_ = name;
    result_ = result;
    failed_ = true;  // publishes both
  }
  // What a run's status is after all: kCallbackFailed after a failure, else `status`.
  Status status_of(Status status) const;

 private:
  std::atomic<bool> claimed_{false}, failed_{false};
  const char* name_ = "";
  std::int32_t result_ = 0;
};

// Each is empty for a null function, and calls `record`, which must outlive it, on failure.
ScoreMod to_score_mod(qkv_score_mod function, void* context, CallbackRecord& record);
ScoreModGradient to_score_mod_gradient(qkv_score_mod_gradient function, void* context,
                                       CallbackRecord& record);
MaskMod to_mask_mod(qkv_mask_mod function, void* context, CallbackRecord& record);
BlockPredicate to_block_predicate(qkv_block_predicate function, void* context,
                                  CallbackRecord& record);
std::function<void(double)> to_progress(qkv_progress function, void* context,
                                        CallbackRecord& record);

}  // namespace qkv::c

#endif  // QKV_BINDINGS_C_CALLBACKS_H_
