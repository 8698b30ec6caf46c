#include "goal_inputs.h"

#include <fmt/core.h>

#include "child_process.h"
#include "npkit_generator.h"

namespace assay::bench {
namespace {

namespace fs = std::filesystem;

std::string name_of(const RecordedJob& job) {
  return fmt::format("{}x{}_{}ch_{}layers_{}steps", job.nodes, job.gpus_per_node, job.channels,
                     job.layers, job.steps);
}

}  // namespace

core::Result<fs::path> recording(Inputs& inputs, const RecordedJob& job) {
  const fs::path path = ASSAY_TRY(inputs.folder()) / ("nsys_" + name_of(job));
  if (fs::exists(path)) return path;
  static_cast<void>(ASSAY_TRY(measure_work([&]() -> core::Result<double> {
    ASSAY_TRY(write_nsys_reports(path, job));
    return 0.0;
  })));
  return path;
}

core::Result<NpkitFiles> npkit_files(Inputs& inputs) {
  const fs::path folder = ASSAY_TRY(inputs.folder());
  NpkitFiles files{folder / "npkit_simple.json", folder / "npkit_ll.json"};
  if (!fs::exists(files.ll)) ASSAY_TRY(write_npkit_summaries(files.simple, files.ll));
  return files;
}

core::Result<fs::path> public_schedule(Inputs& inputs,
                                       const RecordedJob& job,
                                       const std::string& format) {
  const fs::path folder =
      ASSAY_TRY(inputs.folder()) / fmt::format("schedule_{}_{}", name_of(job), format);
  const fs::path path = folder / (format == "bin" ? "output.bin" : "output.goal");
  if (fs::exists(path)) return path;
  const fs::path recorded = ASSAY_TRY(recording(inputs, job));
  const NpkitFiles npkit = ASSAY_TRY(npkit_files(inputs));
  static_cast<void>(
      ASSAY_TRY(measure_program({ASSAY_PROGRAM, "goal", "generate", "-i", recorded.string(), "-o",
                                 folder.string(), "--compat", "v2", "-s", npkit.simple.string(),
                                 "-l", npkit.ll.string(), "--write", format, "--quiet"})));
  return path;
}

}  // namespace assay::bench
