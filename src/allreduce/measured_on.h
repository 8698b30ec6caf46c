// Tells what measurements were made on, by the .json beside each file of them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::allreduce {

// Every text is empty where the file has no .json beside it, as benchmarks from elsewhere have
// none.
struct MeasuredOn {
  std::string gpu = {};   // "" where the .json does not name it, either
  std::string nccl = {};  // the version, such as 2.28.3; "" as above
  std::string text = {};  // "NVIDIA H200, CUDA 13.0, NCCL 2.28.9, 2026-11-21"
};

// Takes the path of a benchmark file or of a sweep of NCCL. Fails when its .json cannot be read,
// does not say what was measured on, or contradicts the name of the file.
core::Result<MeasuredOn> measured_on(const std::filesystem::path& csv);

// Fails where files were measured on different GPUs. `remedy` ends the message.
core::Status check_one_gpu(const std::vector<std::filesystem::path>& files,
                           std::string_view remedy);

// Fails where files are not of the GPU that they are compared with.
core::Status check_same_gpu(std::vector<std::filesystem::path> files,
                            const std::vector<std::filesystem::path>& compared_with);

// Returns one line about the files of one folder: "NVIDIA H200, CUDA 13.0, NCCL 2.28.9, 2026-11-21,
// of 6900 times in benchmark.tp2.sm90.csv". Fails where they were measured on different GPUs, of
// which no table holds for all.
core::Result<std::string> provenance_of(const std::vector<std::filesystem::path>& files,
                                        std::size_t times);

}  // namespace assay::allreduce
