#include "report/xlsx_splice.h"

#include <fmt/format.h>

#include "report/zip_reader.h"

namespace assay::report {
namespace {

constexpr std::size_t kPieceBytes = 1 << 18;

// The library counts only the cells that it writes.
void set_dimension(std::string& sheet, const std::string& dimension) {
  constexpr std::string_view kDimension = "<dimension ref=\"";
  const std::size_t start = sheet.find(kDimension);
  if (start == std::string::npos) return;
  const std::size_t value = start + kDimension.size();
  sheet.replace(value, sheet.find('"', value) - value, dimension);
}

core::Status write_spliced(const ZipMember& member, const SheetRows& rows, ZipWriter& zip) {
  std::string sheet;
  ASSAY_TRY(inflate_member(member, [&](std::string_view piece) { sheet += piece; }));
  RowPrinter printer(rows);
  set_dimension(sheet, printer.dimension());
  const std::size_t end_of_rows = sheet.find("</sheetData>");
  if (end_of_rows == std::string::npos)
    return core::Error{fmt::format("{} has no header row", member.name)};
  return zip.add(member.name, [&](const ZipWriter::Take& take) -> core::Status {
    ASSAY_TRY(take(std::string_view(sheet).substr(0, end_of_rows)));
    fmt::memory_buffer xml;
    for (std::size_t row = 0; row < rows.plan->row_count; ++row) {
      printer.print(row, xml);
      if (xml.size() < kPieceBytes && row + 1 < rows.plan->row_count) continue;
      ASSAY_TRY(take({xml.data(), xml.size()}));
      xml.clear();
    }
    return take(std::string_view(sheet).substr(end_of_rows));
  });
}

}  // namespace

core::Status splice_rows(std::string_view workbook,
                         const MissingRows& missing,
                         const ZipWriter::Take& take) {
  ZipWriter zip(take);
  for (const ZipMember& member : ASSAY_TRY(zip_members(workbook))) {
    const auto rows = missing.find(member.name);
    if (rows == missing.end()) {
      ASSAY_TRY(zip.copy(member));
    } else {
      ASSAY_TRY(write_spliced(member, rows->second, zip));
    }
  }
  return zip.finish();
}

}  // namespace assay::report
