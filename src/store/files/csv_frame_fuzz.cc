// libFuzzer target: any bytes are a table of measurements. None may crash, hang or leak, and what
// was read survives being written.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "store/files/csv_frame.h"
#include "store/files/perf_file.h"

namespace {

using namespace assay;  // NOLINT(google-build-using-namespace)

bool same_value(const store::FrameColumn& a, const store::FrameColumn& b, std::size_t row) {
  if (a.is_missing(row) || b.is_missing(row)) return a.is_missing(row) == b.is_missing(row);
  const auto before = a.value(row);
  const auto after = b.value(row);
  const auto* number = std::get_if<double>(&before);
  const bool both_nan = number != nullptr && std::isnan(*number) &&
                        std::holds_alternative<double>(after) &&
                        std::isnan(std::get<double>(after));
  return both_nan || before == after;
}

void examine(const store::Frame& frame) {
  model::Warnings warnings;
  const auto again = store::read_csv_frame(store::write_csv_frame(frame), warnings);
  ASSAY_CHECK(again.ok() && again.value().columns.size() == frame.columns.size() &&
                  again.value().num_rows() == frame.num_rows() && warnings.empty(),
              "what was written can be read");
  for (std::size_t i = 0; i < frame.columns.size(); ++i) {
    const store::FrameColumn& before = frame.columns[i];
    const store::FrameColumn& after = again.value().columns[i];
    ASSAY_CHECK(before.name == after.name, "a name survives");
    for (std::size_t row = 0; row < frame.num_rows(); ++row)
      ASSAY_CHECK(same_value(before, after, row), "a value survives");
  }
}

void examine(const store::PerfFile& file) {
  for (const auto format : {store::FileFormat::kCsv, store::FileFormat::kParquet}) {
    const auto bytes = store::format_perf_file(file.table, file.rows, {.format = format});
    ASSAY_CHECK(bytes.ok(), "a table that was read can be written");
    model::Warnings warnings;
    const auto again = store::parse_perf_file(bytes.value(), file.table + ".txt", warnings);
    ASSAY_CHECK(again.ok() && again.value().rows.num_rows() == file.rows.num_rows(),
                "a table that was written can be read");
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  model::Warnings warnings;
  const auto frame = store::read_csv_frame(text, warnings);
  if (frame.ok()) examine(frame.value());
  const auto file = store::parse_perf_file(text, "table.txt", warnings);
  if (file.ok()) examine(file.value());
  return 0;
}
