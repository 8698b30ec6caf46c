// libFuzzer target: any bytes are a job's file, and a job that is read can be resolved. None may
// crash, hang or leak.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "goal/job_file.h"
#include "goal/resolve.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = goal::parse_job_file(text, "fuzz.json");
  if (file.ok()) static_cast<void>(goal::resolve(file.value().job, goal::Misfits::kLeaveOut));
  return 0;
}
