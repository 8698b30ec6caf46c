// The operations of one PyTorch profiler trace with the times of their kernels.
#pragma once

#include <string>
#include <vector>

#include "goal/inputs/kineto_trace.h"
#include "goal/inputs/process_recording.h"

namespace assay::goal {

// A process group of PyTorch, which has a communicator of its own.
struct KinetoGroup {
  std::string name;
  std::vector<std::int32_t> ranks;  // global ranks

  friend bool operator<(const KinetoGroup& a, const KinetoGroup& b) {
    return a.name != b.name ? a.name < b.name : a.ranks < b.ranks;
  }
};

struct KinetoRecording {
  ProcessRecording process;         // its communicators have neither name nor channels
  std::vector<KinetoGroup> groups;  // beside process.communicators
};

KinetoRecording finish_kineto(const KinetoTrace& trace);

}  // namespace assay::goal
