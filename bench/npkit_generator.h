// NPKit's measurements of NCCL's copies and reductions.
#pragma once

#include <filesystem>

#include "core/result.h"

namespace assay::bench {

// Writes the summaries of both protocols, with about as many measurements as the public ones hold:
// for each size in bytes, the nanoseconds that copying and reducing took.
core::Status write_npkit_summaries(const std::filesystem::path& simple,
                                   const std::filesystem::path& ll);

}  // namespace assay::bench
