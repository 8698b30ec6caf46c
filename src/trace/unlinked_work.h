// GPU work without a launch record: no call in the trace launched it.
//
// Work on one stream runs in the order of its launches. So what runs before the first linked work
// of its stream may have been launched before the profile began: it leaked into it. What runs after
// that was launched during the profile, and its launch record is missing: profilers drop records,
// and some do not record every way to launch. Of a stream without any linked work, the first linked
// work of the trace decides. A trace without any call of the CPU cannot tell what leaked.
//
// PyTorch also records a range of each step on each stream of the GPU. What runs on a stream after
// such a range began was launched in that step or later. Where all launch records of a step are
// missing, its first range on any stream tells so for all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/trace.h"
#include "trace/call_tree.h"

namespace assay::trace {

class ProfilerSteps;

struct UnlinkedWork {
  std::uint32_t event = 0;  // index into Trace::gpu_events
  bool is_leaked = false;
  // The CPU's time before which no call launched it: that of the call that launched the linked work
  // before it on its stream or, where that has none, on any; or the start of the step whose range
  // began before it. std::nullopt: there is neither.
  std::optional<std::int64_t> launched_after_ns = std::nullopt;
};

// Returns them by event.
std::vector<UnlinkedWork> find_unlinked_work(const model::Trace& trace, const CallTree& tree);

// Returns the positions of the steps of which the trace has no launch; none where the steps are not
// those of the profiler on the CPU.
std::vector<std::size_t> steps_without_launches(const model::Trace& trace,
                                                const CallTree& tree,
                                                const ProfilerSteps& steps);

}  // namespace assay::trace
