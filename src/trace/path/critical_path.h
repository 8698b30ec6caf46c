// The chain of works, over all ranks, that decided how long the run took. Found by walking back
// from the last work: to what its start waited for, and in a collective to the rank that arrived
// last.
//
// The path is one unbroken chain of segments from the start of the first step to the end of the
// last, so the parts of a step add up to its length. Time of the host is on it only where the GPU
// waits for the host.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/path/execution.h"
#include "trace/path/waits.h"

namespace assay::trace::path {

enum class Part : std::uint8_t {
  kComputation,
  kCommunication,  // from the arrival of the last rank on
  kUnmatched,      // communication that is not matched across all its ranks: transfer, or a wait
  kCopy,
  kHost,       // the GPU waits for its next launch
  kStraggler,  // half of the ranks have arrived at a collective and wait for the last one
  kIdle,       // between works, for no known reason
};

inline constexpr std::array<std::string_view, 7> kPartNames{
    "computation",           "communication", "waiting or transfer", "copies", "host launch",
    "waiting for straggler", "idle"};

// A stretch of the path. Segments tile the steps without gaps, in order of time.
struct Segment {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  WorkId work = kNone;  // what ran or, of kHost and kIdle, what was about to
  std::uint16_t rank = 0;
  std::int32_t step = 0;  // position in Execution::steps
  Part part = Part::kIdle;
  Part cause = Part::kIdle;  // of kStraggler: what the last rank did meanwhile; else as `part`

  [[nodiscard]] std::int64_t length_ns() const { return end_ns - start_ns; }
};

using Composition = std::array<std::int64_t, kPartNames.size()>;  // nanoseconds of each part

std::vector<Segment> critical_path(const Execution& execution, const Waits& waits);

// The same with the waits that this execution alone tells.
std::vector<Segment> critical_path(const Execution& execution);

// Returns what each step is made of.
std::vector<Composition> compositions(const Execution& execution, const std::vector<Segment>& path);

}  // namespace assay::trace::path
