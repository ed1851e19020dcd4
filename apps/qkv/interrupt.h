// Ctrl-C (SIGINT) and SIGTERM.
#ifndef QKV_APPS_QKV_INTERRUPT_H_
#define QKV_APPS_QKV_INTERRUPT_H_

#include <atomic>

namespace qkv::app {

// Takes over both signals. From now on the first one ends the process with exit code 128 + signal,
// or, within a CancelScope, asks the work to stop. The second one kills.
void handle_interrupts();

// Work that ends by itself soon after flag() turned true. For the library's cancel flags.
class CancelScope {
 public:
  CancelScope();
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  const std::atomic<bool>* flag() const;
};

// 128 + the signal that came, or 0.
int interrupt_exit_code();

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_INTERRUPT_H_
