#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "plan/validate/bench_results.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  model::Warnings warnings;
  const auto rows = plan::parse_bench_result(text, "concurrency-8.json", {}, warnings);
  if (!rows.ok()) return 0;
  for (const plan::MeasuredDeployment& row : rows.value())
    ASSAY_CHECK(row.concurrency >= 1 && row.ttft_ms >= 0 && row.tpot_ms >= 0,
                "a row has a load and latencies");
  (void)plan::parse_deployed(text, "deployment.json");
  return 0;
}
