// libFuzzer target: any bytes are a table of measurements. None may crash, hang or leak, and what
// was read survives being written.
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "store/files/csv_frame.h"
#include "store/files/perf_file.h"

namespace {

using namespace assay;  // NOLINT(google-build-using-namespace)

void examine(const store::Frame& frame) {
  model::Warnings warnings;
  const auto again = store::read_csv_frame(store::write_csv_frame(frame), warnings);
  ASSAY_CHECK(again.ok() && warnings.empty() && store::same_values(frame, again.value()),
              "what was written can be read");
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
