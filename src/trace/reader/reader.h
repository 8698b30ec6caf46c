// Reads one PyTorch profiler trace, JSON or gzipped JSON (detected by content), in one streaming
// pass.
//
// The undamaged part of a damaged file is read, with counted warnings in Trace::warnings. Reading
// fails only when there is nothing to read (no such file, no traceEvents).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/result.h"
#include "model/trace.h"
#include "trace/reader/event_cutter.h"

namespace assay::trace {

// Receives the number of file bytes read since the last call.
using OnProgress = std::function<void(std::uint64_t)>;

// Whether to fill Trace::launch_flows, of which only the compat mode makes use.
enum class LaunchFlows { kSkip, kRead };

// The calls of Python functions to keep: those that name modules and recomputation, or all, of
// which a trace with call stacks has more than of all other events.
enum class PythonCalls { kNamed, kAll };

// Whether to look for damage that costs nothing but events, and to fill Trace::damage.
enum class FileDamage { kIgnore, kDescribe };

// Whether a trace may hold the calls of several processes, as one of all ranks does, whose work no
// command could tell apart. read_rank() heeds it.
enum class Processes { kOne, kAny };

// What to read of a trace beside what every command reads.
struct Reading {
  LaunchFlows flows = LaunchFlows::kSkip;
  PythonCalls python = PythonCalls::kNamed;
  FileDamage damage = FileDamage::kIgnore;
  Processes processes = Processes::kOne;
};

core::Result<model::Trace> read_trace(const std::filesystem::path& path,
                                      const OnProgress& on_progress = {},
                                      const Reading& reading = {});

// Reads a trace from any bytes; messages call it `name`.
core::Result<model::Trace> read_trace(core::ByteSource& source,
                                      const std::string& name,
                                      const OnProgress& on_progress = {},
                                      std::size_t chunk_bytes = kDefaultChunkBytes,
                                      const Reading& reading = {});

// The facts that a trace states in addition to its events.
struct DocumentFacts {
  bool valid = true;              // whether the text is JSON
  std::optional<int> rank;        // distributedInfo.rank
  bool rank_is_damaged = false;   // distributedInfo.rank exists but is not a rank
  std::optional<int> world_size;  // distributedInfo.world_size
  int device_count = 0;           // entries of deviceProperties
  std::string gpu_name;           // name of the first device
};

// Reads the facts from CutDocument::rest. It takes nothing else, since the document may hold the
// whole environment of a host.
DocumentFacts read_document(const std::string& text);

}  // namespace assay::trace
