// The data of a page as its program reads them.
#pragma once

#include <string>

#include "report/page.h"

namespace assay::report {

// Everything but the rows of tables, which stand apart: table N is the element "tN".
std::string page_json(const Page& page);

// The columns and the cells of a table, column by column.
std::string table_json(const model::Table& table);

}  // namespace assay::report
