// Whether a finished workbook is whole.
#pragma once

#include <filesystem>

#include "core/result.h"

namespace assay::report {

// libxlsxwriter does not look at failed writes to its temporary files (a full disk): it then
// closes a workbook with a cut sheet and reports success. So every XML part is read back and
// must end with the closing tag of its root element.
core::Status check_workbook_is_whole(const std::filesystem::path& path);

}  // namespace assay::report
