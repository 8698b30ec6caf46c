// libFuzzer target: any bytes are the events of an NCCL profiler plugin. None may crash, hang or
// leak on the way to a job.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/byte_source.h"
#include "goal/inputs/profiler_events.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  core::MemorySource source(std::string_view(reinterpret_cast<const char*>(data), size));
  auto events = goal::read_events(source, "prof_1.jsonl");
  if (!events.ok() || !events.value()) return 0;
  std::vector<goal::ProcessRecording> processes;
  processes.push_back(*std::move(events).value());
  goal::join_processes(std::move(processes));
  return 0;
}
