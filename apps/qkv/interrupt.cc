#include "interrupt.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace qkv::app {
namespace {

std::atomic<bool> g_in_scope{false};
std::atomic<bool> g_cancel{false};
std::atomic<int> g_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  g_signal = signal;
  if (!g_in_scope) {
    constexpr std::string_view kMessage = "qkv: interrupted; nothing was written\n";
    (void)!::write(STDERR_FILENO, kMessage.data(), kMessage.size());
    ::_exit(128 + signal);
  }
  g_cancel = true;
}

}  // namespace

void handle_interrupts() {
  // A file beyond the size limit is an error to report, not a reason to die.
  (void)std::signal(SIGXFSZ, SIG_IGN);
  for (int signal : {SIGINT, SIGTERM}) {
    struct sigaction old = {};
    // Ignored by the parent, as under nohup or for a background job: leave it so.
    if (::sigaction(signal, nullptr, &old) != 0 || old.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigemptyset(&action.sa_mask);
    (void)::sigaction(signal, &action, nullptr);
  }
}

CancelScope::CancelScope() { g_in_scope = true; }

CancelScope::~CancelScope() { g_in_scope = false; }

const std::atomic<bool>* CancelScope::flag() const { return &g_cancel; }

int interrupt_exit_code() { return g_signal == 0 ? 0 : 128 + g_signal; }

}  // namespace qkv::app
