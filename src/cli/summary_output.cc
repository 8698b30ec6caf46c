#include "cli/summary_output.h"

#include "cli/options.h"
#include "cli/output.h"
#include "core/terminal.h"
#include "core/text.h"
#include "report/book.h"

namespace assay::cli {
namespace {

constexpr std::size_t kPipeColumns = 120;

const Choices<std::optional<Summary>> kSummaries{
    {"table", Summary::kTable}, {"json", Summary::kJson}, {"csv", Summary::kCsv}};

void print_table(const model::Table& table, Summary summary, std::size_t most_rows) {
  if (summary == Summary::kCsv) return print(report::csv(table));
  const std::size_t columns = core::terminal_columns(stdout, kPipeColumns);
  const auto colors =
      core::shows_colors(stdout) ? report::TextColors::kTerminal : report::TextColors::kNone;
  print_styled(report::text_table(table, columns, most_rows, colors));
}

}  // namespace

bool Presentation::is_for_reading() const {
  return summary() == Summary::kTable && Listener::current() == nullptr;
}

void add_presentation_options(App& app, Presentation& presentation) {
  const char* group = "Output options";
  add_choice(app, "--format", presentation.format, kSummaries,
             "how the summary on standard output is written (csv: an empty line between tables)")
      ->group(group);
  app.add_flag("-q,--quiet", presentation.quiet,
               "no progress, no list of files, and no summary unless --format is given; only "
               "warnings and errors")
      ->group(group);
}

void print_sentence(const std::string& sentence) {
  constexpr std::size_t kIndent = 2;
  if (Listener::current() != nullptr) return print(sentence + "\n");
  const std::size_t columns = core::terminal_columns(stdout, kPipeColumns);
  print(core::wrapped(core::printable_line(sentence), columns, 0, kIndent) + "\n");
}

void print_summary(const model::Book& book, Summary summary, std::size_t most_rows) {
  if (summary == Summary::kJson || Listener::current() != nullptr) return print_book(book);
  for (std::size_t i = 0; i < book.tables.size(); ++i) {
    if (i > 0) print("\n");
    print_table(book.tables[i], summary, most_rows);
  }
}

}  // namespace assay::cli
