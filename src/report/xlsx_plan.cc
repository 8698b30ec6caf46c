#include "report/xlsx_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "core/text.h"
#include "report/characters.h"

namespace assay::report {
namespace {

constexpr std::size_t kMaxTableHeaderUnits = 255;

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_control(char c) {
  return std::iscntrl(static_cast<unsigned char>(c)) != 0;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_forbidden_in_sheet_name(char c) {
  return std::string_view("[]:*?/\\").find(c) != std::string_view::npos || is_control(c);
}

core::Status check_sheet_name(const std::string& name) {
  if (name.empty()) return core::Error{"a table without a name cannot be a worksheet"};
  if (core::valid_utf8(name) != name || name.front() == '\'' || name.back() == '\'' ||
      std::any_of(name.begin(), name.end(), is_forbidden_in_sheet_name)) {
    return core::Error{fmt::format(
        "worksheet name '{}': [ ] : * ? / \\, control characters and quotes at its ends are not "
        "allowed; rename the table",
        name)};
  }
  if (utf16_length(name) > kMaxSheetNameUnits) {
    return core::Error{
        fmt::format("worksheet name '{}' is longer than {} characters", name, kMaxSheetNameUnits)};
  }
  return {};
}

std::string continuation_name(const std::string& name, std::size_t part) {
  const std::string suffix = fmt::format(" ({})", part);
  return std::string(first_utf16_units(name, kMaxSheetNameUnits - suffix.size())) + suffix;
}

// Excel repairs a workbook whose table has an empty, repeated, broken or too long header.
bool can_be_excel_table(const model::Table& table) {
  if (table.row_count() == 0) return false;
  std::set<std::string> seen;
  return std::all_of(table.columns.begin(), table.columns.end(), [&](const model::Column& column) {
    const std::string& name = column.name;
    return !name.empty() && std::none_of(name.begin(), name.end(), is_control) &&
           seen.insert(lower(name)).second &&
           utf16_length(core::valid_utf8(name)) <= kMaxTableHeaderUnits;
  });
}

// "A1", "XFD7", "R1C1", "R" and "C" name cells, not tables.
bool looks_like_a_cell(const std::string& name) {
  const auto letters_end = std::find_if_not(name.begin(), name.end(), is_letter);
  const auto letters = letters_end - name.begin();
  if (letters <= 3 && std::all_of(letters_end, name.end(), is_digit)) return true;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return is_digit(c) || c == 'r' || c == 'R' || c == 'c' || c == 'C';
  });
}

// Table names: ASCII letters, digits, "_" and "." (we keep to less than Excel would allow).
std::string excel_table_name(const std::string& sheet_name) {
  std::string name = sheet_name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_letter(c) && !is_digit(c) && c != '_'; },
      '_');
  if ((!is_letter(name[0]) && name[0] != '_') || looks_like_a_cell(name)) name = "T_" + name;
  return name;
}

class Planner {
 public:
  core::Status add(const model::Table& table) {
    ASSAY_TRY(check_sheet_name(table.name));
    if (table.columns.size() > kMaxSheetColumns) {
      return core::Error{fmt::format("table '{}' has {} columns; a worksheet holds {}", table.name,
                                     table.columns.size(), kMaxSheetColumns)};
    }
    constexpr std::size_t kRowsPerSheet = kMaxSheetRows - 1;
    std::size_t first_row = 0;
    for (std::size_t part = 1; part == 1 || first_row < table.row_count(); ++part) {
      const std::size_t rows = std::min(kRowsPerSheet, table.row_count() - first_row);
      const std::string name = part == 1 ? table.name : continuation_name(table.name, part);
      if (!names_.insert(lower(name)).second) {
        return core::Error{fmt::format("two worksheets would be named '{}'", name)};
      }
      sheets_.push_back(
          {&table, name, first_row, rows, table_name(table, name), table.style.visibility});
      first_row += rows;
    }
    return {};
  }

  std::vector<SheetPlan> take() {
    const auto visible = [](const SheetPlan& sheet) {
      return sheet.visibility == model::Visibility::kVisible;
    };
    if (!sheets_.empty() && std::none_of(sheets_.begin(), sheets_.end(), visible)) {
      sheets_.front().visibility = model::Visibility::kVisible;
    }
    return std::move(sheets_);
  }

 private:
  std::string table_name(const model::Table& table, const std::string& sheet_name) {
    if (!table.style.excel_table || !can_be_excel_table(table)) return "";
    const std::string wanted = excel_table_name(sheet_name);
    std::string name = wanted;
    for (int suffix = 2; !table_names_.insert(lower(name)).second; ++suffix) {
      name = fmt::format("{}_{}", wanted, suffix);
    }
    return name;
  }

  std::vector<SheetPlan> sheets_;
  std::set<std::string> names_;
  std::set<std::string> table_names_;
};

}  // namespace

core::Result<std::vector<SheetPlan>> plan_sheets(const model::Book& book) {
  Planner planner;
  for (const model::Table& table : book.tables)
    ASSAY_TRY(planner.add(table));
  return planner.take();
}

}  // namespace assay::report
