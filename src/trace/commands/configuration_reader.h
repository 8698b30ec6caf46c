// Configurations for a comparison: from analysed traces, or from the JSON that `analyze` left.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"
#include "trace/commands/prepare.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// Only the tables that a comparison reads.
Configuration configuration_of(const AnalyzedRun& run, Parts parts);

// `path` is the configuration, or its kAnalysisFolder. An error names what is missing and the
// command that makes it.
core::Result<Configuration> read_configuration(const std::filesystem::path& path,
                                               Parts parts,
                                               Compat compat);

// The folder that is called like the configuration: "runs/a/torch_profiler/" → "a".
std::string path_label(const std::filesystem::path& path);

}  // namespace assay::trace
