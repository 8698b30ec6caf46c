// libFuzzer target: any bytes are a Parquet file. None may crash, hang or take much memory, and
// what was read survives being written.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "store/files/parquet.h"

namespace {

using namespace assay::store;  // NOLINT(google-build-using-namespace)

// Small enough that a hostile file is refused within the time and memory of a fuzzing run.
constexpr ParquetLimits kLimits{.max_rows = 1 << 16,
                                .max_cells = 1 << 18,
                                .max_page_bytes = 1 << 20,
                                .max_column_bytes = 1 << 22};

bool same_value(const FrameColumn& a, const FrameColumn& b, std::size_t row) {
  if (a.is_missing(row) || b.is_missing(row)) return a.is_missing(row) == b.is_missing(row);
  const auto before = a.value(row);
  const auto after = b.value(row);
  const auto* number = std::get_if<double>(&before);
  const bool both_nan = number != nullptr && std::isnan(*number) &&
                        std::holds_alternative<double>(after) &&
                        std::isnan(std::get<double>(after));
  return both_nan || before == after;
}

void examine(const Frame& frame) {
  const auto bytes = write_parquet(frame);
  ASSAY_CHECK(bytes.ok(), "what was read can be written");
  const auto again = read_parquet(bytes.value());
  ASSAY_CHECK(again.ok() && again.value().columns.size() == frame.columns.size() &&
                  again.value().num_rows() == frame.num_rows(),
              "what was written can be read");
  for (std::size_t i = 0; i < frame.columns.size(); ++i) {
    const FrameColumn& before = frame.columns[i];
    const FrameColumn& after = again.value().columns[i];
    ASSAY_CHECK(before.name == after.name && before.size() == frame.num_rows(),
                "names and lengths survive");
    for (std::size_t row = 0; row < frame.num_rows(); ++row)
      ASSAY_CHECK(same_value(before, after, row), "a value survives");
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto frame = read_parquet(bytes, kLimits);
  if (frame.ok()) examine(frame.value());
  return 0;
}
