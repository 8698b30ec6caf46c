// Generates recordings as Nsight Systems exports them for an NCCL with marks: every step gathers
// each layer's parameters, scatters each layer's gradients and reduces a few tensors, over all
// GPUs.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/result.h"

namespace assay::bench {

struct RecordedJob {
  int nodes = 8;
  int gpus_per_node = 4;
  int channels = 8;
  int layers = 16;
  int steps = 1;

  [[nodiscard]] int ranks() const { return nodes * gpus_per_node; }
};

// Writes one SQLite file per node. Creates the folder.
core::Status write_nsys_reports(const std::filesystem::path& folder, const RecordedJob& job);

}  // namespace assay::bench
