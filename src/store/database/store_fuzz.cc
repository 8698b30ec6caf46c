// libFuzzer target: any bytes are a store, as SQLite's file or packed by zstd like those that ship
// with assay. None may crash or hang, and whatever opens can be listed and read.
#include <cstdint>
#include <string_view>

#include "store/database/store.h"

namespace {

using namespace assay;  // NOLINT(google-build-using-namespace)

void examine(const store::Store& store) {
  static_cast<void>(store.list());
  static_cast<void>(store.list(store::Points::kGrid));
  static_cast<void>(store.origin());
  if (const auto runs = store.runs(); runs.ok()) {
    for (const store::StoredRun& run : runs.value()) {
      static_cast<void>(store.cases(run.id));
      static_cast<void>(store.rows(run.id));
    }
  }
  const auto tables = store.tables();
  if (!tables.ok()) return;
  for (const std::string& table : tables.value()) {
    static_cast<void>(store.table({.table = table}, store::Store::Columns::kWithStatistics));
    static_cast<void>(store.table({.table = table}, store::Store::Columns::kWithInterval));
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto store = bytes.starts_with(kZstdMagic) ? store::Store::unpack("it", bytes)
                                                   : store::Store::from_bytes("it", bytes);
  if (store.ok()) examine(store.value());
  return 0;
}
