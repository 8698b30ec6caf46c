#include "cli/summary_output.h"

#include "cli/options.h"
#include "core/terminal.h"
#include "report/book.h"

namespace assay::cli {
namespace {

constexpr std::size_t kPipeColumns = 120;

const Choices<std::optional<Summary>> kSummaries{
    {"table", Summary::kTable}, {"json", Summary::kJson}, {"csv", Summary::kCsv}};

std::string tables_text(const model::Book& book, Summary summary, std::size_t most_rows) {
  const std::size_t columns = core::terminal_columns(stdout, kPipeColumns);
  const auto colors =
      core::shows_colors(stdout) ? report::TextColors::kTerminal : report::TextColors::kNone;
  std::string text;
  for (const model::Table& table : book.tables) {
    if (!text.empty()) text += '\n';
    if (summary == Summary::kCsv) {
      text += report::csv(table);
    } else {
      text += report::text_table(table, columns, most_rows, colors);
    }
  }
  return text;
}

}  // namespace

void add_presentation_options(App& app, Presentation& presentation) {
  const char* group = "Output options";
  add_choice(app, "--format", presentation.format, kSummaries,
             "how the summary on standard output is written")
      ->group(group);
  app.add_flag("-q,--quiet", presentation.quiet,
               "no progress, no list of files, and no summary unless --format is given; only "
               "warnings and errors")
      ->group(group);
}

std::string summary_text(const model::Book& book, Summary summary, std::size_t most_rows) {
  return summary == Summary::kJson ? report::json(book) : tables_text(book, summary, most_rows);
}

}  // namespace assay::cli
