#include "collect/public_tables.h"

#include <set>

#include "store/perf_file.h"

namespace assay::collect {

namespace fs = std::filesystem;

core::Result<std::vector<fs::path>> write_public_tables(const store::Store& store,
                                                        const TableSource& source,
                                                        const fs::path& folder) {
  std::set<std::string> tables;
  for (const store::Content& content : ASSAY_TRY(store.list())) {
    const bool ours = content.framework == source.framework && content.version == source.version &&
                      content.device == source.device;
    if (ours) tables.insert(content.table);
  }
  std::vector<fs::path> files;
  for (const std::string& table : tables) {
    const store::Selection selection{.table = table,
                                     .framework = source.framework,
                                     .version = source.version,
                                     .device = source.device};
    const store::Frame frame = ASSAY_TRY(store.table(selection, store::Store::Columns::kPublic));
    files.push_back(folder / (table + ".txt"));
    ASSAY_TRY(store::write_perf_file(table, frame, {}, files.back()));
  }
  return files;
}

}  // namespace assay::collect
