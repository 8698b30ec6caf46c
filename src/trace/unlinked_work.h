// GPU work without a launch record: no call in the trace launched it.
//
// Work on one stream runs in the order of its launches. So what runs before the first linked work
// of its stream may have been launched before the profile began: it leaked into it. What runs after
// that was launched during the profile, and its launch record is missing: profilers drop records,
// and some do not record every way to launch. Of a stream without any linked work, the first linked
// work of the trace decides. A trace without any call of the CPU cannot tell what leaked.
#pragma once

#include <cstdint>
#include <vector>

#include "model/trace.h"
#include "trace/call_tree.h"

namespace assay::trace {

struct UnlinkedWork {
  std::uint32_t event = 0;  // index into Trace::gpu_events
  bool is_leaked = false;
  // The call that launched the linked work before it on its stream or, where that has none, on any.
  // kNoNode: there is none.
  NodeId call_before = kNoNode;
};

// Returns them by event.
std::vector<UnlinkedWork> find_unlinked_work(const model::Trace& trace, const CallTree& tree);

}  // namespace assay::trace
