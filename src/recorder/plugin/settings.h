// What the user asks of the recorder: environment variables, because a plugin has no other way.
//
//   ASSAY_RECORDER_OUTPUT    folder of the recordings (./assay-recording); %h host, %p process
//   ASSAY_RECORDER_EVENTS    more than the default: kernel-channels, proxy, by commas; or a number,
//                            NCCL's whole event mask
//   ASSAY_RECORDER_LIMIT_MB  largest size of a file (1024)
//   ASSAY_RECORDER_CUPTI     the CUPTI library to load, or "off"
#pragma once

#include <cstdint>
#include <string>

namespace assay::recorder {

struct Settings {
  std::string folder;
  std::uint32_t events = 0;
  std::uint64_t limit_bytes = 0;
  std::string cupti;     // "" to look for it, "off"
  std::string problems;  // what could not be understood, "" if nothing
};

Settings read_settings();

// As NCCL names it: up to the first point.
std::string host_name();

}  // namespace assay::recorder
