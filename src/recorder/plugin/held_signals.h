// Holds back the signals that a write of ours can raise: its file is at the limit on sizes, or
// nobody reads it any more. Unhandled they would end the user's program.
#pragma once

#include <csignal>
#include <ctime>

namespace assay::recorder {

class HeldSignals {
 public:
  HeldSignals() {
    sigset_t pending;
    ::sigpending(&pending);
    ::sigemptyset(&ours_);
    for (const int signal : {SIGXFSZ, SIGPIPE}) {
      if (::sigismember(&pending, signal) == 0) ::sigaddset(&ours_, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  }

  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // Takes those that came, for they are about us.
  ~HeldSignals() {
    const timespec at_once{};
    while (::sigtimedwait(&ours_, nullptr, &at_once) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t ours_{};
  sigset_t before_{};
};

}  // namespace assay::recorder
