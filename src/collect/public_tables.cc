#include "collect/public_tables.h"

#include <set>

#include "core/csv.h"
#include "core/files.h"
#include "core/text.h"

namespace assay::collect {
namespace {

namespace fs = std::filesystem;

std::string text_of(const model::PerfValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value)) return core::shortest(*number);
  return core::csv_field(std::get<std::string>(value));
}

std::string csv_text(const store::Frame& frame) {
  std::string text;
  for (const store::FrameColumn& column : frame.columns)
    text += (text.empty() ? "" : ",") + core::csv_field(column.name);
  text += '\n';
  for (std::size_t row = 0; row < frame.num_rows(); ++row) {
    for (std::size_t i = 0; i < frame.columns.size(); ++i) {
      const store::FrameColumn& column = frame.columns[i];
      if (i > 0) text += ',';
      if (!column.is_missing(row)) text += text_of(column.value(row));
    }
    text += '\n';
  }
  return text;
}

}  // namespace

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
    ASSAY_TRY(core::write_file(files.back(), csv_text(frame)));
  }
  return files;
}

}  // namespace assay::collect
