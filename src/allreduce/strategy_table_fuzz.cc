// A libFuzzer target that reads any bytes as a strategy table. No input may crash, hang or leak.
// Writing a table and reading it again must give the same table, and its lookup must be total.
#include <cstdint>
#include <limits>
#include <string_view>

#include "allreduce/strategy_table.h"
#include "core/check.h"

namespace {

using namespace assay::allreduce;  // NOLINT(google-build-using-namespace)

void examine(const StrategyTable& table) {
  const std::string json = table_json(table);
  const auto again = table_from_json(json, "fuzz");
  ASSAY_CHECK(again.ok(), "what was written can be read");
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t size : {std::int64_t{-1}, std::int64_t{1}, std::int64_t{7168}, kMost}) {
    for (const int world_size : {0, 3, 8}) {
      const auto found =
          table.lookup(world_size, Fusion::kNone, DataType::kBfloat16, size, 9000 - size / 2);
      ASSAY_CHECK(found != Strategy::kAuto, "a table never sends back to itself");
      ASSAY_CHECK(found == again.value().lookup(world_size, Fusion::kNone, DataType::kBfloat16,
                                                size, 9000 - size / 2),
                  "a table means the same when read again");
    }
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer requires this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto table = table_from_json({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (table.ok()) examine(table.value());
  return 0;
}
