// The calls of Python functions in a trace, nested by their times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "model/trace.h"

namespace assay::trace {

// Returns the calls that `wanted` accepts by thread, then by start, each before those inside of it.
std::vector<const model::PythonCall*> python_calls_in_order(
    const model::Trace& trace, const std::function<bool(const model::PythonCall&)>& wanted);

inline constexpr std::uint32_t kNoPythonCall = 0xFFFFFFFF;

// Walks calls that are sorted by thread and time. `enter` gets a call and what `enter` returned for
// the call around it (kNoPythonCall without one); `leave` gets the thread, the time, and what was
// returned for the call around that which ends.
template <class Enter, class Leave>
void walk_nested(std::span<const model::PythonCall* const> calls,
                 const Enter& enter,
                 const Leave& leave) {
  struct Open {
    std::int64_t end_ns;
    std::uint32_t value;
  };

  std::vector<Open> open;
  model::TrackId track = 0;
  const auto around = [&] { return open.empty() ? kNoPythonCall : open.back().value; };
  const auto close_until = [&](std::int64_t time_ns) {
    while (!open.empty() && open.back().end_ns <= time_ns) {
      const std::int64_t end_ns = open.back().end_ns;
      open.pop_back();
      leave(track, end_ns, around());
    }
  };
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  for (const model::PythonCall* call : calls) {
    close_until(call->track == track ? call->start_ns : kNever);
    track = call->track;
    // A call that seems to outlast its caller ends with it.
    const std::int64_t last_ns = open.empty() ? kNever : open.back().end_ns;
    const std::uint32_t value = enter(*call, around());
    open.push_back({std::min(call->start_ns + call->duration_ns, last_ns), value});
  }
  close_until(kNever);
}

}  // namespace assay::trace
