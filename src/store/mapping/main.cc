// Part of the build: makes of a shipped system's database the form that queries map.
//
//   map_system NAME.db.zst NAME.tables
#include <cstdio>

#include "core/files.h"
#include "core/output_file.h"
#include "store/answers/packed_tables.h"
#include "store/database/store.h"

namespace assay::store {
namespace {

core::Status map_system(const std::string& database, const std::string& output) {
  const std::string packed = ASSAY_TRY(core::read_file(database));
  const Store store = ASSAY_TRY(Store::unpack(database, packed));
  std::vector<WorkRows> tables;
  for (const std::string& name : ASSAY_TRY(store.tables())) {
    const Frame frame = ASSAY_TRY(store.table({.table = name}, Store::Columns::kWithInterval));
    tables.push_back(ASSAY_TRY(make_work_rows(name, frame)));
  }
  const std::string origin = origin_text(ASSAY_TRY(store.origin()));
  return core::write_file(output, pack_tables(origin, tables));
}

}  // namespace
}  // namespace assay::store

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto mapped = assay::store::map_system(argv[1], argv[2]);
  if (mapped.ok()) return 0;
  std::fprintf(stderr, "map_system: %s\n", mapped.error().message.c_str());
  return 1;
}
