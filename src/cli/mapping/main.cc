// Part of the build: makes of a shipped system's database the form that queries map, with what its
// rows tell of the errors of answers and of power.
//
//   map_system NAME.db.zst NAME.yaml NAME.tables
#include <cstdio>

#include "cli/operator_costs.h"
#include "core/files.h"
#include "core/output_file.h"
#include "store/answers/packed_tables.h"
#include "store/database/store.h"
#include "store/systems/shipped.h"

namespace assay::store {

// This program makes the shipped systems, so that it has none itself.
std::span<const ShippedSystem> shipped_systems() {
  return {};
}

namespace {

core::Status map_system(const std::string& database,
                        const std::string& yaml,
                        const std::string& output) {
  const std::string packed = ASSAY_TRY(core::read_file(database));
  const Store store = ASSAY_TRY(Store::unpack(database, packed));
  const Peaks peaks = ASSAY_TRY(read_peaks(yaml));
  std::vector<MappedTable> tables;
  for (const std::string& name : ASSAY_TRY(store.tables())) {
    const Frame frame = ASSAY_TRY(store.table({.table = name}, Store::Columns::kWithInterval));
    const WorkRows rows = ASSAY_TRY(with_times(ASSAY_TRY(make_work_rows(name, frame))));
    const Rooflines rooflines = table_rooflines(name, cli::costed_operators(name), peaks);
    tables.push_back({.rows = rows,
                      .spreads = WorkIndex(rows, rooflines.bound).spreads(),
                      .power = measured_power(name, cli::row_loads, frame)});
  }
  const std::string origin = origin_text(ASSAY_TRY(store.origin()));
  return core::write_file(output, pack_tables(origin, tables));
}

}  // namespace
}  // namespace assay::store

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto mapped = assay::store::map_system(argv[1], argv[2], argv[3]);
  if (mapped.ok()) return 0;
  std::fprintf(stderr, "map_system: %s\n", mapped.error().message.c_str());
  return 1;
}
