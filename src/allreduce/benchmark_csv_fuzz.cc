// A libFuzzer target that reads any bytes as a benchmark file. No input may crash, hang or leak,
// and writing what was read and reading it again must give the same measurements.
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "allreduce/benchmark_csv.h"
#include "core/check.h"

namespace {

using namespace assay::allreduce;  // NOLINT(google-build-using-namespace)

bool same_time(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

void examine(const std::vector<Measurement>& measurements) {
  std::string text(benchmark_csv_header());
  for (const Measurement& measurement : measurements)
    text += "\n" + benchmark_csv_line(measurement);
  const auto again = parse_benchmark_csv(text, "fuzz.csv");
  ASSAY_CHECK(again.ok() && again.value().size() == measurements.size(),
              "what was written can be read");
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    const Measurement& before = measurements[i];
    const Measurement& after = again.value()[i];
    ASSAY_CHECK(before.cell == after.cell && before.strategy == after.strategy &&
                    before.launch == after.launch && before.outcome == after.outcome &&
                    before.reason == after.reason && before.samples == after.samples &&
                    before.memory_bytes == after.memory_bytes,
                "a measurement survives");
    ASSAY_CHECK(same_time(before.time_us, after.time_us) && same_time(before.low_us, after.low_us),
                "times survive");
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer requires this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto measurements = parse_benchmark_csv(text, "fuzz.csv");
  if (measurements.ok()) examine(measurements.value());
  return 0;
}
