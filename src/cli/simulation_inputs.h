// Where the parameters of a simulation come from: files, options, and the notes of the schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/result.h"
#include "goal/job_file.h"
#include "goal/launch_source.h"
#include "model/schedule_notes.h"
#include "simulate/simulate.h"
#include "simulate/study/study.h"

namespace assay::cli {

struct SimulationInputs {
  std::filesystem::path schedule;  // or a job
  std::filesystem::path params;
  std::filesystem::path topology;
  std::filesystem::path network;
  simulate::LinkValues links;  // --L, --intra-G, ...
  bool atlahs = false;
};

using OptionalNotes = std::optional<model::ScheduleNotes>;

// Returns the options without the network that contends. Of each parameter the last one counts that
// is given: default, --params, --topology, options. Fails when both files name nodes, and different
// ones.
core::Result<simulate::Options> make_parameters(const SimulationInputs& inputs,
                                                std::size_t num_ranks,
                                                const OptionalNotes& notes);

// The same for a part of a job from which costs are learned, some of its first replicas, whose
// ranks are on these nodes where no file names others. Fails when the nodes that a file names
// divide replicas in different ways.
core::Result<simulate::Options> make_cost_parameters(const SimulationInputs& inputs,
                                                     const goal::JobFile& job,
                                                     std::vector<std::uint32_t> nodes);

// Returns all options. Fails when the network's file and another one divide the ranks into
// different nodes.
core::Result<simulate::Options> make_options(const SimulationInputs& inputs,
                                             std::size_t num_ranks,
                                             const OptionalNotes& notes);

// Says which parameters of the options the network's file replaced; "" if it did none.
std::string replaced_options(const SimulationInputs& inputs, const simulate::Outcome& outcome);

// Reads the notes that lie beside a schedule, if there are any. Fails where calculations are not
// counted in ns.
core::Result<OptionalNotes> notes_beside(const std::filesystem::path& schedule);

// Returns the node of each rank, or nothing where the notes name none. Nodes are numbered in the
// order of their first rank.
std::vector<std::uint32_t> nodes_of(const model::ScheduleNotes& notes);

// Returns whether the file is a job rather than a schedule.
core::Result<bool> is_job(const std::filesystem::path& path);

}  // namespace assay::cli
