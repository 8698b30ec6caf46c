// Reads the configurations of a comparison from analysed traces or from the JSON that `analyze`
// left.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/facts.h"
#include "model/warnings.h"
#include "trace/compare/configuration.h"
#include "trace/pipelines/reduce.h"

namespace assay::trace {

// Returns a single run with only the tables that a comparison reads. `gpus_per_node` as in
// collective_book().
Configuration configuration_of(const ReducedRun& run,
                               Parts parts,
                               std::optional<int> gpus_per_node = std::nullopt);

// Reads a single run. `path` is the configuration or its kAnalysisFolder. An error names what is
// missing and the command that makes it.
core::Result<Configuration> read_configuration(const std::filesystem::path& path,
                                               Parts parts,
                                               Compat compat);

// Joins runs that were read separately into one configuration. `repeats` holds their numbers: 0 for
// the only run of a configuration without repeats.
Configuration join_runs(std::vector<Configuration> runs, const std::vector<int>& repeats);

// Reads the environment in which the run in this folder was measured, if it was recorded. An
// unreadable record is a warning.
std::optional<model::Facts> read_environment(const std::filesystem::path& run_folder,
                                             model::Warnings& warnings);

// Returns the name of the configuration's folder: "runs/a/torch_profiler/" → "a".
std::string path_label(const std::filesystem::path& path);

}  // namespace assay::trace
