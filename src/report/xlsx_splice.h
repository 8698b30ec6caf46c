// Puts rows into the worksheets of a workbook that libxlsxwriter wrote without them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/result.h"
#include "report/xlsx_rows.h"
#include "report/zip_writer.h"

namespace assay::report {

// The rows by the name of the zip member that lacks them: "xl/worksheets/sheet1.xml".
using MissingRows = std::map<std::string, SheetRows>;

// Passes the bytes of the workbook to `take`, with these rows at the end of each sheet's cells.
core::Status splice_rows(std::string_view workbook,
                         const MissingRows& missing,
                         const ZipWriter::Take& take);

}  // namespace assay::report
