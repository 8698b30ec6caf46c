// Measurements of NCCL's settings as lines of benchmark files, and the files of a sweep:
// nccl_sweep.tp{N}.sm{V}.csv, which have a benchmark file's columns, then `ran`.
//
// `strategy` is an arm's name (NCCL, NCCL_RING_LL_8), `op` the collective, `size` NCCL's size of
// the call. A benchmark file may have such rows too; there they are all-reduces, and the rows of
// NCCL are its own choice.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allreduce/nccl_setting.h"
#include "core/result.h"

namespace assay::allreduce {

struct NcclFileName {
  int world_size = 0;
  int sm_version = 0;

  [[nodiscard]] std::string text() const;
};

std::optional<NcclFileName> nccl_file_name(std::string_view name);

// Both return a line without its line end.
std::string nccl_csv_header();
std::string nccl_csv_line(const NcclMeasurement& measurement);

// Takes the rows of NCCL's arms, without fusion, and leaves out all others. Errors name the file
// and the line.
core::Result<std::vector<NcclMeasurement>> parse_nccl_csv(std::string_view text,
                                                          const std::filesystem::path& path);

// What the files of a folder tell about NCCL.
struct NcclSweep {
  std::vector<NcclMeasurement> measurements;
  std::string gpu;              // of a sweep, from its .json; "" if unknown
  std::string nccl;             // NCCL's version, such as 2.28.3
  std::string provenance = {};  // of the sweeps, one line; "" where there is none
};

// Reads the sweeps of one SM version, or where there is none the benchmark files: NCCL's own choice
// is compared only within one run. Without any file it is empty. Fails when a
// file cannot be read, when two sweeps were made on different GPUs or versions of NCCL, or when one
// says on what and another does not.
core::Result<NcclSweep> read_nccl_sweep(const std::filesystem::path& folder, int sm_version);

// The SM versions of the sweeps in a folder, ascending.
core::Result<std::vector<int>> nccl_sweep_versions(const std::filesystem::path& folder);

}  // namespace assay::allreduce
