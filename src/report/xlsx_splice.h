// Puts rows into the worksheets of a workbook that libxlsxwriter wrote without them.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/result.h"
#include "report/xlsx_rows.h"

namespace assay::report {

// The rows by the name of the zip member that lacks them: "xl/worksheets/sheet1.xml".
using MissingRows = std::map<std::string, SheetRows>;

// Writes the workbook again, with these rows at the end of each sheet's cells.
core::Status splice_rows(const std::filesystem::path& workbook, const MissingRows& missing);

}  // namespace assay::report
