// Prints a command's summary on standard output.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "model/table.h"

namespace assay::cli {

class App;

enum class Summary { kTable, kCsv, kJson };

inline constexpr std::size_t kSummaryRows = 40;
inline constexpr std::size_t kAllRows = 100'000;

struct Presentation {
  std::optional<Summary> format;
  bool quiet = false;

  [[nodiscard]] Summary summary() const { return format.value_or(Summary::kTable); }

  // Returns whether people read the tables, which then have few columns, and figures with their
  // bars as one text. Callers of the library and other programs take numbers.
  [[nodiscard]] bool is_for_reading() const;

  // Whoever names a format wants the data, even when all talk is off.
  [[nodiscard]] bool shows_summary() const { return !quiet || format.has_value(); }
};

// Declares --format and --quiet.
void add_presentation_options(App& app, Presentation& presentation);

// Prints a sentence in lines as wide as tables; those after the first are indented. A caller of the
// library gets one line.
void print_sentence(const std::string& sentence);

// Prints the tables, or the whole book as JSON. Cuts each table for a terminal to `most_rows` rows
// and marks the cut.
void print_summary(const model::Book& book, Summary summary, std::size_t most_rows = kSummaryRows);

}  // namespace assay::cli
