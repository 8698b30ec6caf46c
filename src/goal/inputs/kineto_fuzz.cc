// libFuzzer target: any bytes are a PyTorch profiler trace. None may crash, hang or leak on the way
// to a job.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "goal/inputs/join_processes.h"
#include "goal/inputs/kineto.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto trace = goal::parse_kineto_trace(text, "fuzz.json");
  if (!trace.ok()) return 0;
  std::vector<goal::ProcessRecording> processes;
  processes.push_back(goal::finish_kineto(trace.value()).process);
  goal::join_processes(std::move(processes));
  return 0;
}
