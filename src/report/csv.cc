#include "core/csv.h"

#include <string>
#include <variant>

#include "core/files.h"
#include "core/output_file.h"
#include "core/text.h"
#include "model/table.h"
#include "report/book.h"

namespace assay::report {
namespace {

std::string field(const model::Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  // Numbers have nothing to quote.
  return text == nullptr ? model::text(cell) : core::csv_text(core::valid_utf8(*text));
}

}  // namespace

std::string csv(const model::Table& table) {
  std::string result;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (c > 0) result += ',';
    result += core::csv_text(core::valid_utf8(table.columns[c].name));
  }
  result += '\n';
  for (std::size_t r = 0; r < table.row_count(); ++r) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) result += ',';
      result += field(table.at(r, c));
    }
    result += '\n';
  }
  return result;
}

core::Status write_csv_folder(const model::Book& book, const std::filesystem::path& folder) {
  ASSAY_TRY(core::make_directories(folder));
  for (const model::Table& table : book.tables) {
    ASSAY_TRY(core::check_file_name(table.name));
    ASSAY_TRY(
        core::write_file(folder / (table.name + ".csv"), csv(table), core::Durability::kUnsynced));
  }
  return {};
}

}  // namespace assay::report
