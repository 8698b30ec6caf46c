// Writes a binary schedule rank by rank; the memory it needs is the jump table.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <vector>

#include "core/result.h"
#include "model/schedule.h"

namespace assay::model {

// What takes the ranks of a schedule, one after another from rank 0.
class RankSink {
 public:
  RankSink() = default;
  RankSink(const RankSink&) = delete;
  RankSink& operator=(const RankSink&) = delete;
  virtual ~RankSink() = default;

  virtual core::Status append(const RankImage& rank) = 0;
};

// Creates the file whole: `ranks` must append num_ranks ranks. Nothing appears under the name
// unless all is well.
core::Status write_binary_schedule(const std::filesystem::path& path,
                                   std::uint32_t num_ranks,
                                   const std::function<core::Status(RankSink&)>& ranks);

// The same bytes in memory.
std::vector<char> binary_schedule(const std::vector<RankImage>& ranks);

}  // namespace assay::model
