#include "store/files/csv_frame.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "core/counted.h"
#include "core/csv.h"
#include "core/file_kind.h"
#include "core/interrupt.h"
#include "core/text.h"
#include "model/string_pool.h"

namespace assay::store {
namespace {

// Lines between two looks at whether the work is to stop; each may be a question that takes tens of
// microseconds.
constexpr std::int64_t kLinesBetweenLooks = 1024;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

template <class T>
std::optional<T> parse(std::string_view field) {
  T value{};
  const char* end = field.data() + field.size();
  const auto [at, problem] = std::from_chars(field.data(), end, value);
  if (problem != std::errc() || at != end) return std::nullopt;
  return value;
}

// A field of blanks is as empty as one without.
bool is_blank(std::string_view field) {
  return field.find_first_not_of(" \t") == std::string_view::npos;
}

enum class FieldKind : std::uint8_t { kWhole, kReal, kText };

FieldKind kind_of(std::string_view field, FieldKind at_least) {
  if (is_blank(field) || at_least == FieldKind::kText) return at_least;
  if (at_least == FieldKind::kWhole && parse<std::int64_t>(field)) return FieldKind::kWhole;
  return parse<double>(field) ? FieldKind::kReal : FieldKind::kText;
}

struct ParsedColumn {
  std::string name;
  FieldKind kind = FieldKind::kWhole;
  bool has_values = false;
  std::vector<std::int64_t> whole;
  std::vector<double> real;
  std::vector<std::uint32_t> codes;
  model::StringPool pool;
  std::string_view last_field;  // rows of a table repeat their texts; `pool` owns it
  std::uint32_t last_code = 0;
  std::vector<bool> missing;
};

// Reads the text twice: once to learn each column's kind, once for the values, so that no field is
// kept as text in between.
class FrameReader {
 public:
  FrameReader(std::string_view text, model::Warnings& warnings, const CsvFrameOptions& options)
      : text_(text), warnings_(warnings), options_(options) {}

  core::Result<Frame> read() {
    core::Status done = each_row(&FrameReader::learn_kinds);
    if (!done.ok()) return done.error();
    for (ParsedColumn& column : columns_) {
      if (!column.has_values) column.kind = FieldKind::kText;
    }
    const std::int64_t rows = num_rows_;
    done = each_row(&FrameReader::append);
    if (!done.ok()) return done.error();
    report(rows);
    return take();
  }

 private:
  using RowAction = void (FrameReader::*)(const std::vector<std::string_view>&);

  core::Status each_row(RowAction action) {
    LineCutter cutter(text_);
    std::vector<std::string_view> fields;
    num_rows_ = repeated_headers_ = 0;
    torn_line_ = 0;
    core::Status header = read_header(cutter, fields);
    if (!header.ok()) return header;
    for (;;) {
      const auto more = cutter.next(fields);
      if (!more.ok()) {
        if (!cutter.is_unended()) return more.error();
        torn_line_ = cutter.line();
        return {};
      }
      if (!more.value()) return {};
      unended_line_ = cutter.is_unended() ? cutter.line() : 0;
      if (fields.size() != columns_.size()) {
        if (unended_line_ == 0 || fields.size() > columns_.size()) return ragged(cutter, fields);
        torn_line_ = std::exchange(unended_line_, 0);
      } else if (is_header(fields)) {
        ++repeated_headers_;
      } else {
        (this->*action)(fields);
        ++num_rows_;
      }
    }
  }

  core::Status read_header(LineCutter& cutter, std::vector<std::string_view>& fields) {
    std::vector<std::string> names = options_.header;
    if (names.empty()) {
      if (!ASSAY_TRY(cutter.next(fields))) return core::Error{"the file is empty"};
      names.assign(fields.begin(), fields.end());
    }
    if (!columns_.empty()) return {};
    std::set<std::string> seen;
    for (const std::string& name : names) {
      if (name.empty()) return core::Error{"line 1: a column has no name"};
      if (!seen.insert(name).second) {
        return core::Error{fmt::format("line 1: two columns are named \"{}\"", name)};
      }
      const auto& texts = options_.text_columns;
      ParsedColumn& column = columns_.emplace_back();
      column.name = name;
      has_plain_names_ = has_plain_names_ && !parse<double>(name);
      if (std::find(texts.begin(), texts.end(), name) != texts.end())
        column.kind = FieldKind::kText;
    }
    return {};
  }

  [[nodiscard]] core::Error ragged(const LineCutter& cutter,
                                   const std::vector<std::string_view>& fields) const {
    return core::Error{fmt::format("line {}: {}, but {} named", cutter.line(),
                                   core::counted(fields.size(), "field"),
                                   core::counted(columns_.size(), "column is", "columns are"))};
  }

  [[nodiscard]] bool is_header(const std::vector<std::string_view>& fields) const {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i] != columns_[i].name) return false;
    }
    return has_plain_names_;
  }

  void learn_kinds(const std::vector<std::string_view>& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      ParsedColumn& column = columns_[i];
      if (is_blank(fields[i])) continue;
      column.has_values = true;
      if (column.kind != FieldKind::kText) column.kind = kind_of(fields[i], column.kind);
    }
  }

  void append(const std::vector<std::string_view>& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      ParsedColumn& column = columns_[i];
      const bool is_missing = is_blank(fields[i]);
      if (is_missing && column.missing.empty()) {
        column.missing.resize(static_cast<std::size_t>(num_rows_), false);
      }
      if (is_missing || !column.missing.empty()) column.missing.push_back(is_missing);
      append_value(column, is_missing ? std::string_view() : fields[i]);
    }
  }

  static void append_value(ParsedColumn& column, std::string_view field) {
    if (column.kind == FieldKind::kWhole) {
      column.whole.push_back(parse<std::int64_t>(field).value_or(0));
    } else if (column.kind == FieldKind::kReal) {
      column.real.push_back(parse<double>(field).value_or(0));
    } else {
      if (field != column.last_field) {
        column.last_code = column.pool.intern(field);
        column.last_field = column.pool.view(column.last_code);
      }
      column.codes.push_back(column.last_code);
    }
  }

  void report(std::int64_t rows) {
    if (torn_line_ > 0) {
      warnings_.add("the last line breaks off", "not read", fmt::format("line {}", torn_line_));
    }
    if (unended_line_ > 0 && rows > 0) {
      warnings_.add("the last line has no end; its last number may be cut", "read as it is",
                    fmt::format("line {}", unended_line_));
    }
    if (repeated_headers_ > 0) {
      warnings_.add("column names repeated between rows", "not read", columns_.front().name,
                    repeated_headers_);
    }
  }

  Frame take() {
    Frame frame;
    for (ParsedColumn& column : columns_) {
      FrameColumn& taken = frame.columns.emplace_back();
      taken.name = std::move(column.name);
      taken.missing = std::move(column.missing);
      if (column.kind == FieldKind::kWhole) {
        taken.values = std::move(column.whole);
      } else if (column.kind == FieldKind::kReal) {
        taken.values = std::move(column.real);
      } else {
        taken.values = TextColumn{std::move(column.codes), words_of(column.pool)};
      }
    }
    return frame;
  }

  std::string_view text_;
  model::Warnings& warnings_;
  const CsvFrameOptions& options_;
  std::vector<ParsedColumn> columns_;
  bool has_plain_names_ = true;  // no name reads as a number, as a row's fields may
  std::int64_t num_rows_ = 0;
  std::int64_t repeated_headers_ = 0;
  std::int64_t torn_line_ = 0;     // 0: no line breaks off
  std::int64_t unended_line_ = 0;  // 0: the last line has its end
};

void append_number(std::string& text, std::int64_t value) {
  char digits[24];
  const auto [end, problem] = std::to_chars(std::begin(digits), std::end(digits), value);
  text.append(digits, end);
}

void append_number(std::string& text, double value) {
  text += core::shortest(value);
}

// Writes the fields of a column; those of texts are quoted once, as they repeat.
class FieldWriter {
 public:
  explicit FieldWriter(const FrameColumn& column) : column_(column) {
    if (const auto* text = std::get_if<TextColumn>(&column.values)) {
      for (const std::string& word : text->words)
        words_.push_back(core::csv_text(word));
    }
  }

  void append(std::size_t row, std::string& line) const {
    if (column_.is_missing(row)) return;
    if (const auto* text = std::get_if<TextColumn>(&column_.values)) {
      line += words_[text->codes[row]];
    } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&column_.values)) {
      append_number(line, (*whole)[row]);
    } else {
      append_number(line, std::get<std::vector<double>>(column_.values)[row]);
    }
  }

 private:
  const FrameColumn& column_;
  std::vector<std::string> words_;
};

}  // namespace

LineCutter::LineCutter(std::string_view text) : text_(text) {
  while (text_.substr(at_).starts_with(kByteOrderMark))
    at_ += kByteOrderMark.size();
}

core::Result<bool> LineCutter::next(std::vector<std::string_view>& fields) {
  fields.clear();
  while (at_ < text_.size() && at_line_end())
    pass_line_end();
  if (at_ >= text_.size()) return false;
  if (next_line_ % kLinesBetweenLooks == 0) ASSAY_TRY(core::check_interrupt());
  line_ = next_line_;
  begin_ = at_;
  if (plain_line(fields)) return true;
  const core::Status cut = quoted_line(fields);
  if (!cut.ok()) return cut.error();
  return true;
}

bool LineCutter::is_unended() const {
  return at_ >= text_.size() && text_.find('\n', begin_) == std::string_view::npos;
}

// Reads a line without quotes, the usual case. False, with nothing consumed, if it has a quote.
bool LineCutter::plain_line(std::vector<std::string_view>& fields) {
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  std::string_view line = text_.substr(at_, end - at_);
  if (line.find('"') != std::string_view::npos) return false;
  if (line.ends_with('\r')) line.remove_suffix(1);
  for (;;) {
    const std::size_t comma = line.find(',');
    fields.push_back(core::csv_meaning(line.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  at_ = std::min(end + 1, text_.size());
  ++next_line_;
  return true;
}

// Gives core/csv.h, which knows the rules, the lines up to the one where all quotes are closed.
core::Status LineCutter::quoted_line(std::vector<std::string_view>& fields) {
  std::size_t end = at_;
  std::int64_t quotes = 0;
  do {
    const std::size_t begin = end;
    end = std::min(std::min(text_.find('\n', begin), text_.size() - 1) + 1, text_.size());
    const std::string_view line = text_.substr(begin, end - begin);
    quotes += std::count(line.begin(), line.end(), '"');
    ++next_line_;
  } while (quotes % 2 != 0 && end < text_.size());
  const std::string_view record = text_.substr(std::exchange(at_, end), end - begin_);
  if (quotes % 2 != 0) {
    return core::Error{fmt::format("line {}: a quote that is never closed", line_)};
  }
  auto records = core::parse_csv(record);
  if (!records.ok() || records.value().size() != 1) {
    return core::Error{fmt::format("line {}: text stands beside a quoted field", line_)};
  }
  unquoted_ = std::move(records.value().front().fields);
  for (const std::string& field : unquoted_)
    fields.push_back(core::csv_meaning(field));
  return {};
}

bool LineCutter::at_line_end() const {
  return text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n";
}

void LineCutter::pass_line_end() {
  at_ += text_[at_] == '\n' ? 1 : 2;
  ++next_line_;
}

core::Result<Frame> read_csv_frame(std::string_view text,
                                   model::Warnings& warnings,
                                   const CsvFrameOptions& options) {
  ASSAY_TRY(core::check_kind(text, core::TextFormat::kCsv));
  return FrameReader(text, warnings, options).read();
}

std::string write_csv_frame(const Frame& frame) {
  std::string text;
  std::vector<FieldWriter> writers;
  for (const FrameColumn& column : frame.columns) {
    if (!writers.empty()) text += ',';
    text += core::csv_text(column.name);
    writers.emplace_back(column);
  }
  text += '\n';
  for (std::size_t row = 0; row < frame.num_rows(); ++row) {
    const std::size_t begin = text.size();
    for (std::size_t i = 0; i < writers.size(); ++i) {
      if (i > 0) text += ',';
      writers[i].append(row, text);
    }
    if (text.size() == begin) text += "\"\"";  // an empty line would be no row
    text += '\n';
  }
  return text;
}

}  // namespace assay::store
