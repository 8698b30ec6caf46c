// Ctrl-C, SIGTERM and SIGHUP: long work is asked to stop and gets a moment to do so; then, or at
// the second signal, the program ends at once. Temporary files are removed either way.
#pragma once

#include "core/result.h"

namespace assay::core {

constexpr int kInterruptedExitCode = 130;

// Call once, before threads start. Also keeps a closed pipe from killing the program: writes
// fail with EPIPE instead.
void handle_interrupts();

// Work that has to end other programs needs longer than the usual second to stop.
void allow_seconds_to_stop(unsigned seconds);

// Sets what the program says when a second signal ends it, such as what goes on without it. The
// words must be a string literal.
void set_last_words(const char* words);

// Call after telling that the program was interrupted: ending it, at a second signal or after the
// moment, tells nothing more.
void end_in_silence();

// Whether the program, or the task that this thread works for, is asked to stop. Cheap, and safe in
// any thread: loops that can run for a second or more should check it.
bool interrupted();

// The same for functions that return a Result: ASSAY_TRY(core::check_interrupt()).
Status check_interrupt();

// While one exists, check_interrupt() reports nothing, so that work can write its last results
// after the program was asked to stop. A second signal still ends the program at once.
class FinishingTouches {
 public:
  FinishingTouches();
  FinishingTouches(const FinishingTouches&) = delete;
  FinishingTouches& operator=(const FinishingTouches&) = delete;
  ~FinishingTouches();
};

}  // namespace assay::core
