// The place of a work in its step. Works with one place do the same in every step and, where ranks
// run one program, on every rank, so that what is learnt of one holds for all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/path/execution.h"

namespace assay::trace::path {

struct Places {
  std::vector<std::vector<WorkId>> lane_works;  // by lane, in order
  std::vector<std::int32_t> step;       // by work: position in Execution::steps; -1: outside all
  std::vector<std::uint32_t> position;  // by work: in lane_works of its lane
  // Those of step s on lane l are in lane_works[l] from step_first[l][s] to step_last[l][s].
  std::vector<std::vector<std::uint32_t>> step_first;
  std::vector<std::vector<std::uint32_t>> step_last;
  // Equal for lanes of different ranks and runs that run the same kernels. Two lanes of one rank
  // never have the same.
  std::vector<std::uint64_t> role;                     // by lane
  std::vector<std::vector<std::uint64_t>> step_class;  // by rank and step: equal for equal kernels

  [[nodiscard]] std::span<const WorkId> works_of(std::uint32_t lane, std::size_t s) const {
    return std::span(lane_works[lane])
        .subspan(step_first[lane][s], step_last[lane][s] - step_first[lane][s]);
  }

  // Returns the number of a work among those of its step and lane.
  [[nodiscard]] std::uint32_t index_in_step(const Execution& execution, WorkId work) const {
    const auto s = static_cast<std::size_t>(step[work]);
    return position[work] - step_first[execution.works[work].lane][s];
  }
};

Places places_of(const Execution& execution);

// Returns what names a kernel whatever its launch: its name and, of a collective, its message.
std::vector<std::uint64_t> kernel_keys(const Execution& execution);

}  // namespace assay::trace::path
