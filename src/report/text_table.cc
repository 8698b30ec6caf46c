#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/text.h"
#include "model/table.h"
#include "model/verdict.h"
#include "report/book.h"
#include "report/column_header.h"

namespace assay::report {
namespace {

constexpr std::size_t kGap = 2;            // spaces between two columns
constexpr std::size_t kMinText = 10;       // a text column is never narrower than this
constexpr std::size_t kMostWord = 20;      // a longer word, such as a kernel, is broken
constexpr std::size_t kMostCellLines = 4;  // of a cell
constexpr const char* kEllipsis = "…";

enum class Alignment { kLeft, kRight };

struct TextColumn {
  std::string header;
  std::vector<std::string> cells;
  Alignment alignment = Alignment::kLeft;
  std::size_t width = 0;
  std::size_t content = 0;    // the widest cell
  std::size_t min_width = 0;  // at which numbers are whole and words are not broken
  bool has_verdicts = false;
};

// Rounds to four significant digits, and to a whole number from 1000 on.
std::string rounded(double value) {
  if (std::isnan(value)) return "";
  const double magnitude = std::fabs(value);
  const bool whole_part = magnitude >= 1000 && magnitude < 1e15;
  return whole_part ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string displayed(const model::Cell& cell) {
  if (const double* value = std::get_if<double>(&cell)) return rounded(*value);
  if (const std::string* text = std::get_if<std::string>(&cell)) return core::printable_line(*text);
  return model::text(cell);
}

bool is_number(const model::Cell& cell) {
  return std::holds_alternative<double>(cell) || std::holds_alternative<std::int64_t>(cell);
}

std::string cut(const std::string& text, std::size_t width) {
  if (core::character_count(text) <= width) return text;
  if (width == 0) return "";
  return std::string(core::first_characters(text, width - 1)) + kEllipsis;
}

// Returns the length of the first word: up to a place where a name, a list, a path or a time can go
// on in the next line.
std::size_t word_length(std::string_view text) {
  constexpr std::string_view kLastOfWord = " _/,;";
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool ends = kLastOfWord.find(text[i - 1]) != std::string_view::npos &&
                      kLastOfWord.find(text[i]) == std::string_view::npos;
    const bool is_time = text[i] == 'T' && core::is_digit(text[i - 1]) && i + 1 < text.size() &&
                         core::is_digit(text[i + 1]);
    if (ends || is_time) return i;
  }
  return text.size();
}

std::string_view without_last_spaces(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

// The width at which only very long words are broken. The lines after the first are indented by one
// space.
std::size_t longest_word(std::string_view text) {
  const std::size_t whole = core::character_count(text);
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::size_t length = word_length(text);
    const std::size_t word = core::character_count(without_last_spaces(text.substr(0, length)));
    if (word <= kMostWord) longest = std::max(longest, word + 1);
    text.remove_prefix(length);
  }
  return std::min(longest, whole);
}

// Breaks text into lines between words; a word that is longer than a line goes on in the next one.
// If there are too many lines, an ellipsis replaces those in the middle.
std::vector<std::string> lines_of(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t length = word_length(text);
    const std::size_t needed = core::character_count(without_last_spaces(text.substr(0, length)));
    if (used > 1 && used + needed > width) {
      lines.emplace_back(" ");
      used = 1;
    }
    const std::string_view shown =
        core::first_characters(text.substr(0, length), std::max<std::size_t>(width - used, 1));
    lines.back() += shown;
    used += core::character_count(shown);
    text.remove_prefix(shown.size());
  }
  for (std::string& line : lines)
    line = without_last_spaces(line);
  if (lines.size() > kMostCellLines) {
    // Paths and lists differ at their ends.
    constexpr std::size_t kHead = kMostCellLines / 2;
    lines.erase(lines.begin() + kHead, lines.end() - (kMostCellLines - kHead));
    std::string& last = lines[kHead - 1];
    last = std::string(core::first_characters(last, width - 1)) + kEllipsis;
  }
  return lines;
}

TextColumn make_column(const model::Table& table, std::size_t position, std::size_t rows) {
  TextColumn column;
  column.header = core::printable_line(column_header(table.columns[position]));
  bool has_text = false;
  std::size_t longest = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const model::Cell& cell = table.at(row, position);
    column.cells.push_back(displayed(cell));
    column.content = std::max(column.content, core::character_count(column.cells.back()));
    longest = std::max(longest, longest_word(column.cells.back()));
    if (is_number(cell)) column.alignment = Alignment::kRight;
    has_text = has_text || std::holds_alternative<std::string>(cell);
  }
  column.width = std::max(column.content, core::character_count(column.header));
  const std::size_t of_cells = has_text ? std::max(longest, kMinText) : column.content;
  column.min_width = std::min(column.width, std::max(of_cells, longest_word(column.header)));
  return column;
}

std::size_t total_width(const std::vector<TextColumn>& columns) {
  std::size_t total = columns.empty() ? 0 : kGap * (columns.size() - 1);
  for (const TextColumn& column : columns)
    total += column.width;
  return total;
}

// Narrows the widest of the columns that can still shrink, one character at a time: at first those
// where only the header goes on in another line.
void narrow(std::vector<TextColumn>& columns, std::size_t width) {
  std::size_t total = total_width(columns);
  for (const bool keep_cells : {true, false}) {
    while (total > width) {
      TextColumn* widest = nullptr;
      for (TextColumn& column : columns) {
        const std::size_t least =
            keep_cells ? std::max(column.min_width, column.content) : column.min_width;
        const bool can_give_way = column.width > least;
        if (can_give_way && (widest == nullptr || column.width > widest->width)) widest = &column;
      }
      if (widest == nullptr) break;
      --widest->width;
      --total;
    }
  }
}

// Leaves out the last columns until the rest fits at its narrowest, and returns their headers; the
// first column and the verdicts stay.
std::vector<std::string> drop_columns(std::vector<TextColumn>& columns, std::size_t width) {
  const auto narrowest = [&] {
    std::size_t total = kGap * (columns.size() - 1);
    for (const TextColumn& column : columns)
      total += column.min_width;
    return total;
  };
  std::vector<std::string> dropped;
  while (columns.size() > 1 && narrowest() > width) {
    const bool keep_last = columns.back().has_verdicts && columns.size() > 2;
    const auto last = columns.end() - (keep_last ? 2 : 1);
    dropped.insert(dropped.begin(), last->header);
    columns.erase(last);
  }
  if (columns.size() == 1) columns[0].min_width = std::min(columns[0].min_width, width);
  return dropped;
}

// Colours from the terminal's palette of 256: close to the blue and the orange of colors.h, and
// legible on black and on white. Unclear is underlined, so that it differs from Same even without
// colour.
std::string_view escape_of(model::Verdict verdict) {
  switch (verdict) {
    case model::Verdict::kBetter:
      return "\x1b[38;5;32m";
    case model::Verdict::kWorse:
      return "\x1b[38;5;166m";
    case model::Verdict::kSame:
      return "\x1b[38;5;244m";
    case model::Verdict::kUnclear:
      return "\x1b[4;38;5;244m";
    default:
      return "";
  }
}

std::string colored(const std::string& shown, const std::string& text) {
  const std::string_view escape = escape_of(model::verdict_of(model::Cell(text)));
  return escape.empty() ? shown : std::string(escape) + shown + "\x1b[0m";
}

std::string padded(const std::string& text, const TextColumn& column, TextColors colors) {
  const std::string shown = cut(text, column.width);
  const std::string space(column.width - core::character_count(shown), ' ');
  const bool in_color = column.has_verdicts && colors == TextColors::kTerminal;
  const std::string word = in_color ? colored(shown, text) : shown;
  return column.alignment == Alignment::kRight ? space + word : word + space;
}

// Appends a row, in as many lines as its longest cell takes.
template <class TextOf>
void append_row(std::string& out,
                const std::vector<TextColumn>& columns,
                TextColors colors,
                TextOf text_of) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (const TextColumn& column : columns) {
    cells.push_back(lines_of(text_of(column), column.width));
    height = std::max(height, cells.back().size());
  }
  for (std::size_t row = 0; row < height; ++row) {
    std::string line;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) line.append(kGap, ' ');
      line += padded(row < cells[c].size() ? cells[c][row] : "", columns[c], colors);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
}

void append_rule(std::string& out, const std::vector<TextColumn>& columns) {
  std::string line;
  for (const TextColumn& column : columns) {
    if (!line.empty()) line.append(kGap, ' ');
    for (std::size_t i = 0; i < column.width; ++i)
      line += "─";
  }
  out += line + '\n';
}

std::string left_out(std::size_t count, const char* noun) {
  return fmt::format("… and {} more {}{}", count, noun, count == 1 ? "" : "s");
}

// Breaks text between words. A word longer than a line, such as a path, is wider than it: readers
// copy it. Lines after the first are indented.
void append_wrapped(std::string& out, std::string_view text, std::size_t width) {
  out += core::wrapped(text, width, 0, width > 20 ? 2 : 0) + '\n';
}

}  // namespace

std::string text_table(const model::Table& table,
                       std::size_t width,
                       std::size_t max_rows,
                       TextColors colors) {
  std::string out;
  if (!table.title.empty()) append_wrapped(out, core::printable_line(table.title), width);
  for (const std::string& note : table.notes)
    append_wrapped(out, core::printable_line(note), width);
  if (table.columns.empty()) return out;

  const std::size_t rows = std::min(table.row_count(), max_rows);
  std::vector<TextColumn> columns;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    columns.push_back(make_column(table, c, rows));
    columns.back().has_verdicts =
        !table.style.verdict_column.empty() && table.columns[c].name == table.style.verdict_column;
  }
  const std::vector<std::string> dropped = drop_columns(columns, width);
  narrow(columns, width);

  append_row(out, columns, colors, [](const TextColumn& column) { return column.header; });
  append_rule(out, columns);
  for (std::size_t row = 0; row < rows; ++row) {
    append_row(out, columns, colors, [&](const TextColumn& column) { return column.cells[row]; });
  }
  if (table.row_count() > rows)
    append_wrapped(out, left_out(table.row_count() - rows, "row"), width);
  if (!dropped.empty()) {
    append_wrapped(out, left_out(dropped.size(), "column") + ": " + core::join(dropped, ", "),
                   width);
  }
  return out;
}

}  // namespace assay::report
