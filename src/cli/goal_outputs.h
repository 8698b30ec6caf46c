// Commands of `goal` that write a schedule of something else than a recording share this: where it
// goes, its form, what its slices cost, and how it is written.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/options.h"
#include "goal/generate.h"
#include "goal/synth/made_job.h"

namespace assay::cli {

enum class MadeForm : std::uint8_t { kText, kBinary, kJob, kChakra };

// Declares --output.
Option* add_schedule_folder(App& app, goal::GenerateRequest& request);

// Declares --write with these forms, the default first.
Option* add_made_form(App& app, MadeForm& form, const std::vector<MadeForm>& forms);

goal::ScheduleFormat format_of(MadeForm form);

// Declares --costs.
Option* add_slice_costs(App& app, std::filesystem::path& file);

// The costs of --costs; those fitted on H200 if there is no file.
core::Result<goal::Costs> slice_costs(const std::filesystem::path& file);

// These options say for which simulator a schedule is made, and what data within a node becomes in
// it.
struct SimulatorOptions {
  goal::Simulator simulator = goal::Simulator::kAssay;
  std::optional<goal::IntraNode> intra_node;  // empty: as the simulator needs
  double intra_gbps = 150;
  double intra_latency_ns = 0;
};

// Declares --for, --intra-node, --intra-bandwidth and --intra-latency.
void add_simulator_options(App& app, SimulatorOptions& options, const std::string& group);

// Returns the first of these options that was given.
std::optional<std::string> simulator_option_in(const std::set<std::string>& given);

// Checks that these options, of which `given` names those that were given, say something about what
// is written and do not contradict each other.
core::Status check_simulator_options(const SimulatorOptions& options,
                                     const std::set<std::string>& given,
                                     bool writes_schedule);

void apply(const SimulatorOptions& options, goal::GenerateRequest& request);

// Declares --gpus-per-node of traces that do not tell nodes.
Option* add_gpus_per_node(App& app, goal::InputOptions& options);

// Writes the schedule of a job, shows its warnings and, unless quiet, tells what was written. The
// request tells all that is no property of a made job.
core::Status write_made_job(const goal::MadeJob& made, goal::GenerateRequest request, bool quiet);

// Names the files that were written and the command that runs them.
void tell_written(const goal::GenerateResult& result, goal::Simulator simulator);

}  // namespace assay::cli
