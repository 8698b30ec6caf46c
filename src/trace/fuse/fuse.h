// One trace of all ranks of a run, for Perfetto and chrome://tracing: every rank's events on one
// clock, and the critical path as a process of its own, with arrows from work to work.
//
// Processes, flow ids, correlation and external ids of different ranks differ in it, so that every
// reader of a single trace can read it. Everything else is copied as it was recorded, except the
// files' top-level members, which may hold the environment of a host.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/warnings.h"
#include "trace/path/critical_path.h"
#include "trace/path/execution.h"
#include "trace/run.h"

namespace assay::trace::fuse {

using Sink = std::function<core::Status(std::string_view)>;
using OnBytesRead = std::function<void(std::uint64_t)>;

struct Input {
  const Run& run;  // the files are read again; its traces tell the names of processes
  const path::Execution& execution;
  const std::vector<path::Segment>& path;
};

// Writes the JSON text to `sink`, in pieces. Counts events that cannot be copied in `warnings`.
core::Status write_fused(const Input& input,
                         const Sink& sink,
                         const OnBytesRead& on_bytes_read,
                         model::Warnings& warnings);

}  // namespace assay::trace::fuse
