// Repeated runs: a configuration that was run several times is a folder with repeat1, repeat2, …,
// each with what a configuration that was run once has in its own folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/warnings.h"
#include "trace/options.h"

namespace assay::trace {

struct RunFolder {
  int repeat = 0;  // N of repeatN; 0: the configuration itself, which was run once
  std::filesystem::path path;
};

// The repeats of a folder by number; the folder itself when it has none, or traces of its own.
std::vector<RunFolder> find_run_folders(const std::filesystem::path& configuration);

// The same for an analysis, with a warning where repeats are passed over. An error for a mode
// that knows no repeats.
core::Result<std::vector<RunFolder>> runs_to_analyze(const std::filesystem::path& configuration,
                                                     Compat compat,
                                                     model::Warnings& warnings);

// Adds the warnings of one run, which name the repeat in their examples.
void merge_warnings(const RunFolder& run, const model::Warnings& of_run, model::Warnings& all);

// What to do where a single run is needed: "name one of them, such as 'a/repeat1'"; "" for a
// folder without repeats.
std::string repeats_hint(const std::filesystem::path& folder);

}  // namespace assay::trace
