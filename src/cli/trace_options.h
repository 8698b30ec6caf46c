// The parts that the trace commands share: the options of a request and the output of its result.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/summary_output.h"
#include "core/terminal.h"
#include "trace/pipelines.h"

namespace assay::cli {

class App;

// The places that a command can write to, and the default that its help names.
struct OutputHelp {
  std::string default_folder;
  enum class Dash { kAllowed, kRefused } dash = Dash::kRefused;
};

// Declares --output, --write, --format, --quiet.
void add_output_options(App& app,
                        Presentation& presentation,
                        trace::Request& request,
                        const OutputHelp& help);

// Declares --arch, --short-kernel-us, --compat, --include-unlinked, --threads.
void add_analysis_options(App& app, trace::Request& request);

// Declares --threads.
void add_threads(App& app, trace::Request& request);

// Declares --labels BASELINE,TEST.
void add_labels(App& app, std::string& baseline, std::string& test);
// The same for any number of configurations.
void add_labels(App& app, std::vector<std::string>& labels);

// Declares --call-stacks and --detect-recompute, after add_analysis_options.
void add_python_options(App& app, trace::Options& options);

// Declares --individual-only and --collective-only.
void add_parts_options(App& app, trace::Parts& parts);

// Declares --gpus-per-node.
void add_gpus_per_node(App& app, std::optional<int>& gpus_per_node);

// Declares --tolerance.
void add_tolerance(App& app, double& tolerance_percent);

// Prints each warning on standard error, on its own line.
void show_warnings(const model::Warnings& warnings);

// Names the files that were written, on standard error. If there are many, only workbooks are
// named, because people open these, and the others are counted.
void show_written(const std::vector<std::filesystem::path>& files);

// Calls the library and shows the result: the book or the summary on standard output, and the names
// of files and the warnings on standard error.
core::Result<trace::CommandResult> run_and_show(
    const Presentation& presentation,
    const std::function<core::Result<trace::CommandResult>(core::Progress&)>& call);

}  // namespace assay::cli
