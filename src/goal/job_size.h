// How large the schedule of a job's file is, counted without making it: 10,240 ranks take about a
// second.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/result.h"
#include "goal/job_file.h"
#include "model/table.h"

namespace assay::goal {

struct JobSize {
  std::uint64_t ranks = 0;
  std::uint64_t launches = 0;      // of all ranks, computations included
  std::uint64_t operations = 0;    // of the graph, by what some of its replicas have
  std::uint64_t memory_bytes = 0;  // that simulating it launch by launch takes, about
};

core::Result<JobSize> size_of(const JobFile& file);
core::Result<JobSize> size_of(const model::Job& job,
                              const ScaleOptions& scale_options,
                              const ChoiceOptions& choices,
                              const Costs& costs);

// Returns how large the binary form of so many operations is, about. Text is larger.
std::uint64_t binary_bytes(std::uint64_t operations);

// Error: the schedule would be larger than this.
core::Status check_room(const JobSize& size, std::uint64_t free_bytes);

// A job up to this size is simulated step by step unless collectives are asked for as costs: some
// four minutes of CPU time (0.21 to 0.28 us an operation on an AMD EPYC), and memory that any
// machine has.
inline constexpr std::uint64_t kMostExactOperations = 1'000'000'000;
inline constexpr std::uint64_t kMostExactBytes = 4'000'000'000;

bool fits_exactly(const JobSize& size);

// Returns the table "job", with a row for each figure, and those of the job's recording.
model::Book job_statistics(const JobFile& file, const JobSize& size, std::string_view name);

}  // namespace assay::goal
