// The recordings and schedules for the benchmarks of `assay goal` and `assay simulate`, made on
// first use in the folder of `Inputs`.
#pragma once

#include <filesystem>

#include "core/result.h"
#include "inputs.h"
#include "nsys_generator.h"

namespace assay::bench {

core::Result<std::filesystem::path> recording(Inputs& inputs, const RecordedJob& job);

// Two files: NPKit's summaries for the protocols Simple and LL.
struct NpkitFiles {
  std::filesystem::path simple;
  std::filesystem::path ll;
};

core::Result<NpkitFiles> npkit_files(Inputs& inputs);

// Returns the job's schedule as the public generator makes it; `format` is "bin" or "text".
core::Result<std::filesystem::path> public_schedule(Inputs& inputs,
                                                    const RecordedJob& job,
                                                    const std::string& format);

}  // namespace assay::bench
