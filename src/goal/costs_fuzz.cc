// libFuzzer target: any bytes are one of NPKit's summaries, and the costs of a parameter file. None
// may crash, hang or leak.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "goal/costs.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto row = goal::parse_npkit(text, "fuzz.json"); row.ok()) {
    for (const goal::CostCurve& curve : row.value()) {
      for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{4096}, ~std::uint64_t{0}}) {
        static_cast<void>(
            curve.duration_ns(bytes, {goal::CostChoice::Kind::kSample, 0.5, 7}, bytes));
      }
    }
  }
  if (const auto lines = goal::parse_line_costs(text, "fuzz.json"); lines.ok()) {
    goal::costs_from_lines(lines.value(), "fuzz");
  }
  return 0;
}
