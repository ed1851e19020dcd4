// The caller's callbacks, kept from throwing through the engine, which is built without exceptions.
#ifndef QKV_API_CALLBACKS_H_
#define QKV_API_CALLBACKS_H_

#include <atomic>
#include <exception>
#include <functional>

#include "qkv/options.h"

namespace qkv {

// Wraps callbacks so that the first exception is kept, and asks the run to stop by stop().
class CallbackGuard {
 public:
  CallbackGuard() = default;
  CallbackGuard(const CallbackGuard&) = delete;

  void wrap(AttentionOptions& options);
  void wrap(ExecutionOptions& execution);

  void reset();
  const std::atomic<bool>* stop() const { return &stop_; }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  template <class Result, class... Arguments>
  std::function<Result(Arguments...)> guarded(std::function<Result(Arguments...)> callback);

  std::atomic<bool> stop_{false}, claimed_{false};
  std::exception_ptr first_;
};

}  // namespace qkv

#endif  // QKV_API_CALLBACKS_H_
