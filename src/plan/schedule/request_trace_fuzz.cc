// libFuzzer target: any bytes are a request trace of `assay plan`. None may crash, hang or leak,
// and what is accepted must be a workload.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "plan/schedule/request_trace.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto workload = plan::parse_request_trace(text, "fuzz.jsonl");
  ASSAY_CHECK(!workload.ok() || plan::check_workload(workload.value()).ok(),
              "a trace is a workload");
  return 0;
}
