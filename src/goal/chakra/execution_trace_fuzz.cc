// libFuzzer target: any bytes are the execution trace of the only rank of a job. None may crash,
// hang or leak on the way to a job and back.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "goal/chakra/execution_trace.h"
#include "goal/chakra/read_traces.h"
#include "goal/resolve.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto nodes = goal::parse_execution_trace(bytes, "fuzz.0.et");
  if (!nodes.ok()) return 0;
  const auto again =
      goal::parse_execution_trace(goal::execution_trace(nodes.value()), "again.0.et");
  if (!again.ok() || again.value().size() != nodes.value().size()) __builtin_trap();
  const goal::RankGroups groups = goal::groups_in_metadata(nodes.value());
  const auto job = goal::job_of_traces({{.file = "fuzz.0.et", .nodes = nodes.value()},
                                        {.file = "again.1.et", .nodes = again.value()}},
                                       groups, 8);
  if (job.ok()) static_cast<void>(goal::resolve(job.value(), goal::Misfits::kLeaveOut));
  return 0;
}
