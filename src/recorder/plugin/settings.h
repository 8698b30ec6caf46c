// The settings of the recorder, which are environment variables because a plugin has no other way,
// and facts about the process that NCCL runs in.
//
// - ASSAY_RECORDER_OUTPUT: the folder of the recordings (./assay-recording); %h is the host, %p the
//   process
// - ASSAY_RECORDER_EVENTS: events besides the default ones, kernel-channels and proxy, separated by
//   commas; or a number, which is NCCL's whole event mask
// - ASSAY_RECORDER_LIMIT_MB: the largest size of a file (1024)
// - ASSAY_RECORDER_KERNEL_TIMES: "nccl", whose timers leave other kernels alone and tell nothing
//   of what CUDA graphs run; "cupti"; or "off"
// - ASSAY_RECORDER_CUPTI: the CUPTI library to load, which is then used
#pragma once

#include <cstdint>
#include <string>

#include "model/recording.h"

namespace assay::recorder {

struct Settings {
  std::string folder;
  std::uint32_t events = 0;
  std::uint64_t limit_bytes = 0;
  model::recording::KernelTimer kernel_times = model::recording::kNcclTimer;
  std::string cupti;     // "" to look for it
  std::string problems;  // what could not be understood, "" if nothing
};

Settings read_settings();

// Returns the host name up to the first point, as NCCL does.
std::string host_name();

// Returns the version of the NCCL that contains this function, such as 22809; 0 if unknown.
int nccl_version(const void* function);

// Returns the calling thread's current CUDA device; -1 if there is none.
int current_device();

}  // namespace assay::recorder
