// libFuzzer target: any bytes are a file of `assay plan calibrate`. None may crash, hang or leak,
// and what is accepted reads back as it is written.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "plan/calibrate/calibration_file.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto entries = plan::parse_calibrations(text, "fuzz.json");
  if (!entries.ok()) return 0;
  const auto again = plan::parse_calibrations(plan::calibrations_json(entries.value()), "again");
  ASSAY_CHECK(again.ok() && again.value().size() == entries.value().size(),
              "a calibration reads back");
  return 0;
}
