// How a command's summary goes to standard output.
#pragma once

#include <cstddef>
#include <string>

#include "model/table.h"

namespace assay::cli {

class App;

enum class Summary { kTable, kCsv, kJson };

inline constexpr std::size_t kSummaryRows = 40;
inline constexpr std::size_t kAllRows = 100'000;

struct Presentation {
  Summary summary = Summary::kTable;
  bool quiet = false;
};

// Declares --format and --quiet. A command that writes files in a --format of their own names the
// summary's otherwise.
void add_presentation_options(App& app,
                              Presentation& presentation,
                              const std::string& format_name = "--format");

// Terminal tables are cut to `most_rows` rows each, with a mark.
std::string summary_text(const model::Book& book,
                         Summary summary,
                         std::size_t most_rows = kSummaryRows);

}  // namespace assay::cli
