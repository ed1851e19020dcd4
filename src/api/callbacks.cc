#include "api/callbacks.h"

namespace qkv {

template <class Result, class... Arguments>
std::function<Result(Arguments...)> CallbackGuard::guarded(
    std::function<Result(Arguments...)> callback) {
  if (!callback) return callback;
  return [this, callback = std::move(callback)](Arguments... arguments) -> Result {
    // Once one has thrown, the others are not called again.
    if (!stop_) {
      try {
        return callback(arguments...);
      } catch (...) {
        // Read after the run only, when its threads have met.
        if (!claimed_.exchange(true)) first_ = std::current_exception();
        stop_ = true;
      }
    }
    return Result();
  };
}

void CallbackGuard::wrap(AttentionOptions& options) {
  options.score_mod = guarded(std::move(options.score_mod));
  options.score_mod_gradient = guarded(std::move(options.score_mod_gradient));
  options.mask_mod = guarded(std::move(options.mask_mod));
  options.block_predicate = guarded(std::move(options.block_predicate));
}

void CallbackGuard::wrap(ExecutionOptions& execution) {
  execution.progress = guarded(std::move(execution.progress));
}

void CallbackGuard::reset() {
  stop_ = false;
  claimed_ = false;
  first_ = nullptr;
}

}  // namespace qkv
