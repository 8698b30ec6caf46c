// A libFuzzer target that reads any bytes as a generated lookup table. No input may crash, hang or
// leak. Writing a table and reading it again must give the same cells, and its lookup must be
// total.
#include <cstdint>
#include <limits>
#include <string_view>

#include "allreduce/codegen/lookup_table.h"
#include "core/check.h"

namespace {

using namespace assay::allreduce;  // NOLINT(google-build-using-namespace)

void examine(const LookupTable& table) {
  const auto again = parse_lookup_tables(lookup_table_cpp(table, LookupLayout::kUpstream), "fuzz");
  ASSAY_CHECK(again.ok(), "what was written can be read");
  ASSAY_CHECK(again.value().size() == 1 && again.value().front().cells == table.cells,
              "a table means the same when read again");
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t size : {std::int64_t{-1}, std::int64_t{1}, std::int64_t{7168}, kMost}) {
    for (const int world_size : {0, 3, 8})
      ASSAY_CHECK(table.lookup(world_size, Fusion::kNone, size, size) != Strategy::kAuto,
                  "a table never sends back to itself");
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer requires this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tables = parse_lookup_tables({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!tables.ok()) return 0;
  for (const LookupTable& table : tables.value())
    examine(table);
  return 0;
}
