// libFuzzer target: any bytes are a Parquet file. None may crash, hang or take much memory, and
// what was read survives being written.
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "store/files/parquet.h"

namespace {

using namespace assay::store;  // NOLINT(google-build-using-namespace)

// A file of a few bytes may hold millions of equal rows, which take seconds to write and compare.
constexpr std::size_t kMostRowsWritten = 1 << 16;

void examine(const Frame& frame) {
  const auto bytes = write_parquet(frame);
  ASSAY_CHECK(bytes.ok(), "what was read can be written");
  const auto again = read_parquet(bytes.value());
  ASSAY_CHECK(again.ok() && same_values(frame, again.value()), "what was written can be read");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto frame = read_parquet({reinterpret_cast<const char*>(data), size});
  if (frame.ok() && frame.value().num_rows() <= kMostRowsWritten) examine(frame.value());
  return 0;
}
