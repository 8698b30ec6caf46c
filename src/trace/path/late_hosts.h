// Ranks that the others wait for since their hosts launched late. The path has such a delay twice:
// as the host's where it arose, while nobody waited yet, and as the wait for the straggler, which
// meanwhile does what the others have done. It is one delay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/path/critical_path.h"
#include "trace/path/execution.h"

namespace assay::trace::path {

struct LateHost {
  std::uint16_t rank = 0;        // position in Execution::ranks
  std::int64_t waited_ns = 0;    // by others, for this rank
  std::int64_t host_ns = 0;      // of that, what its host was later than that of the middle rank
  std::int64_t told_too_ns = 0;  // of that, what is told as the host's as well
};

// Returns those of steps that count, the latest host first.
std::vector<LateHost> late_hosts(const Execution& execution,
                                 const std::vector<Segment>& path,
                                 const std::vector<bool>& counts);

}  // namespace assay::trace::path
