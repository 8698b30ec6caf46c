// The simulators for which a schedule can be made, and what each of them needs.
//
//   assay      all there is: nodes by NIC, a CPU for each channel
//   htsim      its network has a host for each NIC of each rank (rank × NICs + NIC), so there is
//   one
//              NIC; tags are signed
//   loggopsim  (spcl/LogGOPSim) an operation may start before what it follows on another CPU, so
//              there is one CPU; G is a whole number, so times are in units of the default's time
//              of a byte; a message of 0 bytes takes less than none, so there is none
//
// ATLAHS' fork of LogGOPSim runs the schedules for assay and for htsim.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "goal/expand.h"

namespace assay::goal {

enum class Simulator { kAssay, kLogGopsim, kHtsim };

std::string_view name_of(Simulator simulator);

// Sets what the simulator needs.
void adapt(Simulator simulator, ExpandOptions& options);

// Returns the shell command that runs a schedule, which is binary for all but assay.
std::string command_for(Simulator simulator,
                        const std::filesystem::path& schedule,
                        std::size_t num_ranks);

}  // namespace assay::goal
