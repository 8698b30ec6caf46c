#include "store/database/store_export.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/files.h"
#include "core/interrupt.h"

namespace assay::store {
namespace {

std::vector<std::string> file_stems(const std::string& table, FileNames names) {
  std::vector<std::string> stems{table};
  if (names == FileNames::kReadme && table == "nccl_perf") stems.emplace_back("comm_perf");
  if (names == FileNames::kReadme && table == "custom_allreduce_perf") {
    stems.emplace_back("custom_all_reduce");
  }
  return stems;
}

core::Status write_table(const std::string& table,
                         const Frame& frame,
                         const ExportRequest& request,
                         std::vector<WrittenFile>& written) {
  for (const std::string& stem : file_stems(table, request.names)) {
    ASSAY_TRY(core::check_interrupt());
    const std::filesystem::path path = request.folder / (stem + ending_of(request.style.format));
    ASSAY_TRY(write_perf_file(table, frame, request.style, path));
    written.push_back(
        {.path = path, .table = table, .rows = static_cast<std::int64_t>(frame.num_rows())});
  }
  return {};
}

}  // namespace

core::Error no_rows(const Selection& rows) {
  const char* of_what = rows.points == Points::kGrid ? " of a grid (--points all: of any)" : "";
  return core::Error{fmt::format("the store has no such rows{}; see 'assay store list'", of_what)};
}

const char* ending_of(FileFormat format) {
  return format == FileFormat::kCsv ? ".txt" : ".parquet";
}

core::Result<std::vector<WrittenFile>> export_tables(const Store& store,
                                                     const ExportRequest& request) {
  const bool asked = !request.tables.empty();
  const std::vector<std::string> tables = asked ? request.tables : ASSAY_TRY(store.tables());
  ASSAY_TRY(core::make_directories(request.folder));
  std::vector<WrittenFile> written;
  for (const std::string& table : tables) {
    Selection selection = request.rows;
    selection.table = table;
    const Frame frame = ASSAY_TRY(store.table(selection, Store::Columns::kPublic));
    if (frame.num_rows() > 0) {
      ASSAY_TRY(write_table(table, frame, request, written));
    } else if (asked) {
      return core::Error{
          fmt::format("no rows of {} are of this framework, version and device", table)};
    }
  }
  if (written.empty()) return no_rows(request.rows);
  return written;
}

}  // namespace assay::store
