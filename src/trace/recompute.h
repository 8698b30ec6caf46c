// Which operators run a second time: those of a checkpointed forward pass that backward runs again,
// since their activations were not kept.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/trace.h"
#include "trace/call_tree.h"

namespace assay::trace {

// Where a node stands in a training step.
enum class Pass : std::uint8_t { kForward, kBackward, kRecompute };

std::string_view pass_name(Pass pass);

// Returns the pass of each node. All that backward did not call is forward, the optimizer as well.
//
// A trace with call stacks names the function that recomputes (torch.utils.checkpoint without
// re-entrance). In others, an operator below a backward operator that has a sequence number of its
// own recomputes: autograd gives numbers to what it will differentiate, and backward itself is not.
// That also holds for the gradient of a gradient (create_graph), which is then taken for
// recomputation.
std::vector<Pass> node_passes(const model::Trace& trace, const CallTree& tree);

}  // namespace assay::trace
