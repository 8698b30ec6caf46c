// A part of a recording: the exchanges that began within a span of time.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "core/result.h"
#include "model/job.h"

namespace assay::goal {

// Seconds since the earliest GPU with the same clock began to be recorded.
struct Window {
  std::optional<double> from_s;
  std::optional<double> to_s;

  [[nodiscard]] bool given() const { return from_s.has_value() || to_s.has_value(); }
};

// Keeps or drops an operation on all its ranks alike, by the first of them to start; so the window
// cuts no exchange. Fails when nothing is left.
core::Result<model::Job> cut_window(model::Job job, const Window& window);

}  // namespace assay::goal
