// Opens a workbook with an independent program and reads the values back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "core/files.h"
#include "report/book.h"
#include "report/test_support.h"

namespace assay::report {
namespace {

using ::testing::ElementsAre;

// Writes every sheet as <stem>-<sheet>.csv in UTF-8, with values as stored rather than as shown.
int convert_to_csv(const std::filesystem::path& workbook, const std::filesystem::path& folder) {
  const std::string command =
      "soffice -env:UserInstallation=file://" + (folder / "profile").string() +
      " --headless --convert-to 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,"
      "false,false,-1' --outdir '" +
      folder.string() + "' '" + workbook.string() + "' >'" + (folder / "log").string() + "' 2>&1";
  return std::system(command.c_str());
}

bool has_soffice() {
  return std::system("command -v soffice >/dev/null 2>&1") == 0;
}

model::Table numbers() {
  model::Table table{"numbers", "Figures of every size", {{"what"}, {"value"}}};
  table.columns[1].description = "a figure";
  for (const double value : {-12.5, 0.1 + 0.2, 1e-300, -1.7e308, 123456789.123456789, 4.2e-5}) {
    table.add_row({std::to_string(value).substr(0, 30), value});
  }
  table.add_row({"integer", std::int64_t{-9007199254740991}});
  table.add_row({"none", std::nan("")});
  table.add_row({"infinite", std::numeric_limits<double>::infinity()});
  return table;
}

model::Table texts() {
  model::Table table{"texts & names", "", {{"text µ"}, {"flag"}}};
  for (const char* text : {"Zeit in µs, 测试 🚀", "=1+1", "http://example.org", "<a & \"b\">", "007",
                           "_x0041_", " spaces "}) {
    table.add_row({text, true});
  }
  table.add_row({"bell\x07 and bad \xFF", false});
  return table;
}

using Rows = std::vector<std::vector<std::string>>;

// Reads RFC 4180; the fields here contain no line breaks.
std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool doubled = quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"';
    if (doubled) {
      fields.back() += line[i++];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

Rows csv_rows(const std::filesystem::path& path) {
  Rows rows;
  std::istringstream lines(core::read_file(path).value());
  for (std::string line; std::getline(lines, line);)
    rows.push_back(csv_fields(line));
  return rows;
}

// LibreOffice writes 15 significant digits.
void expect_shown(const std::string& shown, double value) {
  if (std::isnan(value)) {
    EXPECT_EQ(shown, "");
  } else if (std::isinf(value)) {
    EXPECT_EQ(shown, "inf");
  } else {
    EXPECT_NEAR(std::strtod(shown.c_str(), nullptr) / value, 1, 1e-14) << shown;
  }
}

void expect_numbers(const Rows& rows, const model::Table& table) {
  ASSERT_EQ(rows.size(), table.row_count() + 1);
  EXPECT_THAT(rows[0], ElementsAre("what", "value"));
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    EXPECT_EQ(rows[row + 1][0], model::text(table.at(row, 0)));
    expect_shown(rows[row + 1][1], model::number(table.at(row, 1)));
  }
}

void expect_texts(const Rows& rows, const model::Table& table) {
  ASSERT_EQ(rows.size(), table.row_count() + 1);
  EXPECT_THAT(rows[0], ElementsAre("text µ", "flag"));
  for (std::size_t row = 0; row + 1 < table.row_count(); ++row) {
    EXPECT_THAT(rows[row + 1], ElementsAre(model::text(table.at(row, 0)), "TRUE"));
  }
  EXPECT_THAT(rows.back(), ElementsAre("bell\uFFFD and bad \uFFFD", "FALSE"));
}

// The library writes plain sheets and Excel tables in modes of their own; the rows of sheets with
// many cells are not its own.
enum class Kind { kPlain, kExcelTable, kManyRows };

class XlsxLibreOffice : public ::testing::TestWithParam<Kind> {};

model::Table after_many_rows(const model::Table& table, const model::Cell& second) {
  model::Table longer = table;
  longer.cells.clear();
  for (int row = 0; row < 12000; ++row)
    longer.add_row({"row", second});
  longer.cells.insert(longer.cells.end(), table.cells.begin(), table.cells.end());
  return longer;
}

TEST_P(XlsxLibreOffice, ValuesComeBack) {
  if (!has_soffice()) GTEST_SKIP() << "soffice (libreoffice-calc) is not installed";
  const TemporaryFolder folder;
  model::Book book{"values"};
  book.tables = {numbers(), texts()};
  if (GetParam() == Kind::kManyRows)
    book.tables = {after_many_rows(numbers(), 1.5), after_many_rows(texts(), true)};
  book.tables[0].style.visibility = model::Visibility::kHidden;
  book.tables[0].style.color_scales = {"value"};
  for (model::Table& table : book.tables)
    table.style.excel_table = GetParam() == Kind::kExcelTable;
  ASSERT_TRUE(write_xlsx(book, folder.path() / "book.xlsx").ok());
  ASSERT_EQ(convert_to_csv(folder.path() / "book.xlsx", folder.path()), 0)
      << core::read_file(folder.path() / "log").value();
  expect_numbers(csv_rows(folder.path() / "book-numbers.csv"), book.tables[0]);
  expect_texts(csv_rows(folder.path() / "book-texts & names.csv"), book.tables[1]);
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         XlsxLibreOffice,
                         ::testing::Values(Kind::kPlain, Kind::kExcelTable, Kind::kManyRows));

}  // namespace
}  // namespace assay::report
