// What a trace ran on the GPU, as kernel_diff.h compares it.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "trace/analysis.h"
#include "trace/diff/kernel_diff.h"

namespace assay::trace {

// What the paths of a comparison are made of.
enum class PathKind : std::uint8_t {
  kModules,  // nn.Module: "Model_0/Layer_3/Linear_7"
  kCalls,    // operators: "aten::linear/aten::addmm"
};

// Returns kModules if all ranks of both sides name their modules.
PathKind common_path_kind(std::span<const RankAnalysis> baseline,
                          std::span<const RankAnalysis> test);

// Returns the counted GPU work of a run by path, operator, shapes and kernel, sorted by its key.
// Calls and times are means over ranks and those of their steps whose numbers are in `steps`, or
// over ranks where no steps are known. Work of a
// module's backward pass is that of an operator "aten::mm (backward)". The shapes of a collective
// are its elements, type and group; those of a kernel without an operator are its grid.
// Waits are known of keys of which nine tenths of the calls are matched across all ranks.
std::vector<KernelUse> kernel_uses(std::span<const RankAnalysis> ranks,
                                   PathKind kind,
                                   const std::set<std::int64_t>& steps);

}  // namespace assay::trace
