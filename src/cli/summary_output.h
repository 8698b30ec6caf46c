// Prints a command's summary on standard output.
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

// Declares --format and --quiet. A command whose --format is that of the files it writes gives the
// summary's option another name.
void add_presentation_options(App& app,
                              Presentation& presentation,
                              const std::string& format_name = "--format");

// Prints the tables, or the whole book as JSON. Cuts each table for a terminal to `most_rows` rows
// and marks the cut.
void print_summary(const model::Book& book, Summary summary, std::size_t most_rows = kSummaryRows);

}  // namespace assay::cli
