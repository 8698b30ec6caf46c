#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <memory>

#include "core/files.h"
#include "core/output_file.h"
#include "report/book.h"
#include "report/test_support.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::map<std::string, std::string> written(const model::Book& book) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "book.xlsx";
  const core::Status status = write_xlsx(book, path);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return unzipped(core::read_file(path).value());
}

model::Table small_table(const std::string& name) {
  model::Table table{name, "", {{"name"}, {"change"}}};
  table.add_row({"first", -12.5});
  table.add_row({"second", 3.25});
  return table;
}

TEST(Xlsx, CellsKeepTheirTypes) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  model::Book book{"types"};
  book.tables.push_back({"t", "", {{"value"}}});
  for (const model::Cell& cell :
       {model::Cell{std::int64_t{-42}}, model::Cell{0.1}, model::Cell{true}, model::Cell{"=1+1"},
        model::Cell{}, model::Cell{std::nan("")}, model::Cell{-kInfinity}, model::Cell{""}}) {
    book.tables[0].add_row({cell});
  }
  auto members = written(book);
  const std::string sheet = members["xl/worksheets/sheet1.xml"];
  EXPECT_THAT(sheet, ::testing::ContainsRegex("<c r=\"A2\" s=\"[0-9]+\"><v>-42</v></c>"));
  EXPECT_THAT(sheet, ::testing::ContainsRegex("<c r=\"A3\" s=\"[0-9]+\"><v>0\\.1</v></c>"));
  EXPECT_THAT(sheet, HasSubstr("<c r=\"A4\" t=\"b\"><v>1</v></c>"));
  EXPECT_THAT(sheet, ::testing::ContainsRegex("<c r=\"A5\" s=\"[0-9]+\" t=\"s\"><v>1</v></c>"));
  EXPECT_THAT(members["xl/sharedStrings.xml"],
              HasSubstr("<si><t>=1+1</t></si><si><t>-inf</t></si>"));
  for (const char* blank : {"\"A6\"", "\"A7\"", "\"A9\"", "<f>"}) {
    EXPECT_THAT(sheet, Not(HasSubstr(blank)));
  }
  EXPECT_THAT(sheet, HasSubstr("<pane ySplit=\"1\" topLeftCell=\"A2\""));
}

TEST(Xlsx, FirstVisibleSheetIsActiveAndHiddenOnesAreHidden) {
  model::Book book{"visibility"};
  for (const char* name : {"Raw", "Dashboard", "More"})
    book.tables.push_back(small_table(name));
  book.tables[0].style.visibility = model::Visibility::kHidden;
  const std::string workbook = written(book)["xl/workbook.xml"];
  EXPECT_THAT(workbook, HasSubstr("<sheet name=\"Raw\" sheetId=\"1\" state=\"hidden\""));
  EXPECT_THAT(workbook, HasSubstr("<sheet name=\"Dashboard\" sheetId=\"2\" r:id"));
  EXPECT_THAT(workbook, HasSubstr("activeTab=\"1\""));
}

TEST(Xlsx, ColorScaleIsWhiteAtZero) {
  model::Book book{"colors"};
  book.tables.push_back(small_table("t"));
  book.tables[0].style.color_scales = {"change", "a column that is not there"};
  const std::string sheet = written(book)["xl/worksheets/sheet1.xml"];
  EXPECT_THAT(sheet, HasSubstr("<conditionalFormatting sqref=\"B2:B3\">"));
  EXPECT_THAT(sheet, HasSubstr("<cfvo type=\"min\" val=\"0\"/><cfvo type=\"num\" val=\"0\"/>"
                               "<cfvo type=\"max\" val=\"0\"/><color rgb=\"FFF8696B\"/>"
                               "<color rgb=\"FFFFFFFF\"/><color rgb=\"FF63BE7B\"/>"));
}

TEST(Xlsx, ColorScaleOfOneSidedColumnsKeepsItsSign) {
  model::Book book{"colors"};
  book.tables.push_back({"gains", "", {{"change"}}, {2.0, 5.0}});
  book.tables.push_back({"losses", "", {{"change"}}, {-2.0, -5.0}});
  for (model::Table& table : book.tables)
    table.style.color_scales = {"change"};
  auto members = written(book);
  EXPECT_THAT(members["xl/worksheets/sheet1.xml"],
              HasSubstr("<cfvo type=\"num\" val=\"-1\"/><cfvo type=\"num\" val=\"0\"/>"
                        "<cfvo type=\"max\" val=\"0\"/>"));
  EXPECT_THAT(members["xl/worksheets/sheet2.xml"],
              HasSubstr("<cfvo type=\"min\" val=\"0\"/><cfvo type=\"num\" val=\"0\"/>"
                        "<cfvo type=\"num\" val=\"1\"/>"));
}

TEST(Xlsx, ExcelTableHasNameStyleStripesAndFilter) {
  model::Book book{"tables"};
  book.tables.push_back(small_table("GPU Summary"));
  book.tables[0].style.excel_table = true;
  auto members = written(book);
  const std::string table = members["xl/tables/table1.xml"];
  EXPECT_THAT(table, HasSubstr("displayName=\"GPU_Summary\" ref=\"A1:B3\""));
  EXPECT_THAT(table, HasSubstr("<autoFilter ref=\"A1:B3\"/>"));
  EXPECT_THAT(table, HasSubstr("<tableColumn id=\"2\" name=\"change\"/>"));
  EXPECT_THAT(table, HasSubstr("<tableStyleInfo name=\"TableStyleMedium2\" showFirstColumn=\"0\" "
                               "showLastColumn=\"0\" showRowStripes=\"1\""));
  EXPECT_THAT(members["xl/sharedStrings.xml"], HasSubstr("<t>second</t>"));
}

TEST(Xlsx, NotesTellWhatHeadersMean) {
  model::Book book{"notes"};
  book.tables.push_back(small_table("t"));
  book.tables[0].title = "Times of a step";
  book.tables[0].columns[1].description = "Positive is better";
  book.tables[0].columns[1].unit = "%";
  const std::string comments = written(book)["xl/comments1.xml"];
  EXPECT_THAT(comments, HasSubstr("Times of a step"));
  EXPECT_THAT(comments, HasSubstr("Positive is better\nUnit: %"));
}

TEST(Xlsx, SameBookGivesTheSameSheets) {
  model::Book book{"same"};
  book.tables.push_back(small_table("t"));
  auto first = written(book);
  auto second = written(book);
  first.erase("docProps/core.xml");  // contains the time of writing
  second.erase("docProps/core.xml");
  EXPECT_EQ(first, second);
}

TEST(Xlsx, UnwritableFolderIsOneErrorWithThePath) {
  const TemporaryFolder folder;
  model::Book book{"b"};
  book.tables.push_back(small_table("t"));
  const core::Status status = write_xlsx(book, folder.path() / "missing" / "book.xlsx");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("missing/book.xlsx"));
}

TEST(Xlsx, AWrongBookLeavesTheOldFile) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "book.xlsx";
  ASSERT_TRUE(core::write_file(path, "old").ok());
  model::Book book{"b"};
  book.tables = {small_table("t"), small_table("T")};
  EXPECT_FALSE(write_xlsx(book, path).ok());
  EXPECT_EQ(core::read_file(path).value(), "old");
  EXPECT_EQ(core::list_directory(folder.path()).value().size(), 1U);
}

// Simulates a full disk: files end at `bytes`, and further writes fail.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }

  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

// The workbook itself would fit; only the uncompressed temporary file is truncated.
TEST(Xlsx, FullDiskForTemporaryFilesIsAnError) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "book.xlsx";
  model::Book book{"b"};
  book.tables.push_back(small_table("t"));
  book.tables[0].style.excel_table = true;
  for (int i = 0; i < 9000; ++i)
    book.tables[0].add_row({"the same text", 1.5});
  const core::Status status = [&] {
    const FileSizeLimit limit(400'000);
    return write_xlsx(book, path);
  }();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("book.xlsx': xl/worksheets/sheet1.xml is cut off"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Xlsx, FullDiskForPrintedRowsIsAnError) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "book.xlsx";
  model::Book book{"b"};
  book.tables.push_back(small_table("t"));
  for (int i = 1; i < 15000; ++i)
    book.tables[0].add_row({"text", 1.0 / i});
  const core::Status status = [&] {
    const FileSizeLimit limit(100'000);
    return write_xlsx(book, path);
  }();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("book.xlsx': File too large"));
  EXPECT_EQ(core::list_directory(folder.path()).value().size(), 0U);
}

// Returns the texts between two marks, in their order.
std::vector<std::string> between(const std::string& text,
                                 const std::string& start,
                                 const std::string& end) {
  std::vector<std::string> found;
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    const std::size_t from = at + start.size();
    found.push_back(text.substr(from, text.find(end, from) - from));
  }
  return found;
}

// Returns the format that each style of a workbook has: its alignment and its number's pattern.
std::vector<std::string> formats_of(const std::string& styles) {
  std::map<std::string, std::string> patterns;
  for (const std::string& format : between(styles, "<numFmt ", "/>"))
    patterns[between(format, "numFmtId=\"", "\"")[0]] = between(format, "formatCode=\"", "\"")[0];
  std::vector<std::string> formats;
  for (const std::string& xf :
       between(between(styles, "<cellXfs", "</cellXfs>")[0], "<xf ", "</xf>")) {
    const std::string id = between(xf, "numFmtId=\"", "\"")[0];
    const auto pattern = patterns.find(id);
    formats.push_back((pattern == patterns.end() ? id : pattern->second) +
                      between(xf, "<alignment", "/>")[0]);
  }
  return formats;
}

// Returns each cell of the rows from 2 to `last`: its place, format and content.
std::vector<std::string> cells_of(std::map<std::string, std::string>& members, int last) {
  const std::vector<std::string> formats = formats_of(members["xl/styles.xml"]);
  const std::vector<std::string> texts = between(members["xl/sharedStrings.xml"], "<si>", "</si>");
  std::vector<std::string> cells;
  for (const std::string& row : between(members["xl/worksheets/sheet1.xml"], "<row ", "</row>")) {
    const int number = std::stoi(between(row, "r=\"", "\"")[0]);
    if (number < 2 || number > last) continue;
    for (std::string cell : between(row, "<c ", "</c>")) {
      const std::size_t style = cell.find(" s=\"");
      if (style != std::string::npos) {
        const std::string place = between(cell, " s=\"", "\"")[0];
        cell.replace(style, 5 + place.size(), formats.at(std::stoul(place)));
      }
      // The library has texts in a list of their own.
      const auto text = between(cell, " t=\"s\"><v>", "</v>");
      if (!text.empty()) {
        const std::size_t type = cell.find(" t=\"s\"");
        cell.replace(type, std::string::npos,
                     " t=\"inlineStr\"><is>" + texts.at(std::stoul(text[0])) + "</is>");
      }
      const std::size_t exponent = cell.find("E-");  // the library's is a capital letter
      if (exponent != std::string::npos) cell[exponent] = 'e';
      cells.push_back(cell);
    }
  }
  return cells;
}

model::Table cells_of_all_kinds() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  model::Table table{"t", "", {{"text"}, {"integer"}, {"double"}, {"small"}, {"mixed"}}};
  table.add_row({"a <b> & \"c\"", std::int64_t{-42}, 0.125, 1e-7, true});
  table.add_row({" blanks ", std::int64_t{0}, 1e13, 2.5e-8, false});
  table.add_row({"", {}, std::nan(""), {}, kInfinity});
  table.add_row({"line\nline", std::int64_t{7}, -1e-5, 0.5, -kInfinity});
  table.add_row({"_x0041_ \x07", std::int64_t{1} << 40, 3.0, 0.0, "text"});
  return table;
}

// The library writes the rows of the one, RowPrinter those of the other.
TEST(Xlsx, PrintedRowsAreThoseOfTheLibrary) {
  model::Book few{"few"};
  few.tables.push_back(cells_of_all_kinds());
  const int last = static_cast<int>(few.tables[0].row_count()) + 1;
  model::Book many = few;
  for (int i = 0; i < 30000; ++i)
    many.tables[0].add_row({"", std::int64_t{1}, 1.0, 0.5, {}});
  auto library = written(few);
  auto printed = written(many);
  EXPECT_THAT(cells_of(library, last), ::testing::SizeIs(21));
  EXPECT_EQ(cells_of(printed, last), cells_of(library, last));
  const std::string sheet = printed["xl/worksheets/sheet1.xml"];
  EXPECT_THAT(sheet, HasSubstr("<dimension ref=\"A1:E30006\"/>"));
  EXPECT_THAT(sheet, HasSubstr("<v>0.5</v></c></row></sheetData>"));
  EXPECT_THAT(sheet, HasSubstr("<row r=\"30006\">"));
}

class CopiedRows final : public model::RowSource {
 public:
  explicit CopiedRows(model::Table table) : table_(std::move(table)) {}

  [[nodiscard]] std::size_t row_count() const override { return table_.row_count(); }

  void append_row(std::size_t row, std::vector<model::Cell>& cells) const override {
    for (std::size_t column = 0; column < table_.columns.size(); ++column)
      cells.push_back(table_.at(row, column));
  }

 private:
  model::Table table_;
};

TEST(Xlsx, RowsThatAreMadeWhenTheyAreReadAreWrittenLikeCells) {
  for (const int copies : {1, 40}) {  // of which the library writes the one
    model::Book kept{"rows"};
    kept.tables.push_back(cells_of_all_kinds());
    for (int i = 1; i < copies; ++i)
      for (std::vector<model::Cell> rows = cells_of_all_kinds().cells; model::Cell & cell : rows)
        kept.tables[0].cells.push_back(cell);
    model::Book made = kept;
    made.tables[0].cells.clear();
    made.tables[0].source = std::make_shared<CopiedRows>(kept.tables[0]);
    EXPECT_EQ(made.tables[0].row_count(), 5U * static_cast<unsigned>(copies));
    EXPECT_EQ(written(made)["xl/worksheets/sheet1.xml"], written(kept)["xl/worksheets/sheet1.xml"]);
    EXPECT_EQ(csv(made.tables[0]), csv(kept.tables[0]));
    EXPECT_EQ(json(made), json(kept));
    model::make_rows(made);
    EXPECT_EQ(made.tables[0].source, nullptr);
    EXPECT_EQ(json(made), json(kept));
  }
}

model::Book dashboard() {
  model::Table table{.name = "Dashboard",
                     .title = "b against a",
                     .columns = {{"Metric"}, {"a (ms)"}, {"b (ms)"}, {"Less by (%)"}, {"Verdict"}},
                     .notes = {"a: 2 ranks; b: 2 ranks.", "b is 10 % slower than a."}};
  table.add_row({std::string("total"), 10.0, 11.0, -10.0, std::string("Worse")});
  table.add_row({std::string("computation"), 7.0, 7.0, 0.0, std::string("Same")});
  table.add_row({std::string("idle"), 3.0, 4.0, -33.3, std::string("Unclear")});
  table.style.excel_table = true;
  table.style.opens_with_text = true;
  table.style.verdict_column = "Verdict";
  table.style.judged_columns = {"Less by (%)"};
  table.style.chart = {.title = "A step takes 11 ms with b and 10 ms with a",
                       .axis = "ms per step",
                       .columns = {"a (ms)", "b (ms)"},
                       .rows = {1, 2}};
  model::Book book{"dashboard"};
  book.tables.push_back(std::move(table));
  return book;
}

TEST(Xlsx, ADashboardOpensWithItsTextAndAChart) {
  auto members = written(dashboard());
  const std::string sheet = members["xl/worksheets/sheet1.xml"];
  // Three rows of text and sixteen for the chart come before the table.
  EXPECT_THAT(sheet, HasSubstr("<mergeCell ref=\"A1:E1\"/><mergeCell ref=\"A2:E2\"/>"
                               "<mergeCell ref=\"A3:E3\"/>"));
  EXPECT_THAT(members["xl/tables/table1.xml"], HasSubstr("ref=\"A20:E23\""));
  EXPECT_THAT(members["xl/sharedStrings.xml"], HasSubstr("<t>b is 10 % slower than a.</t>"));
  EXPECT_EQ(sheet.find("<pane"), std::string::npos);
  const std::string chart = members["xl/charts/chart1.xml"];
  EXPECT_THAT(chart, HasSubstr("A step takes 11 ms with b and 10 ms with a"));
  EXPECT_THAT(chart, HasSubstr("ms per step"));
  EXPECT_THAT(chart, HasSubstr("<c:f>Dashboard!$B$20:$C$20</c:f>"));  // the bars
  EXPECT_THAT(chart, HasSubstr("<c:f>Dashboard!$B$22:$C$22</c:f>"));  // the first part of the bars
  EXPECT_THAT(chart, HasSubstr("<c:f>Dashboard!$B$23:$C$23</c:f>"));
}

TEST(Xlsx, ChartsShowIntervalsAndBandwidthsAndPrintsAreOnePageWide) {
  model::Table table{
      .name = "T", .title = "t", .columns = {{"setting"}, {"value"}, {"low"}, {"high"}, {"size"}}};
  table.add_row({std::string("a"), 1.0, 0.5, 1.5, 1e3});
  table.add_row({std::string("b"), 2.0, 1.5, 2.5, 1e6});
  for (int i = 0; i < 40; ++i)
    table.columns.push_back({"a column with a long name " + std::to_string(i)});
  std::vector<model::Cell> cells;
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t c = 0; c < 5; ++c)
      cells.push_back(table.cells[row * 5 + c]);
    cells.resize(cells.size() + 40);
  }
  table.cells = std::move(cells);
  table.style.chart = {.title = "Intervals",
                       .axis = "%",
                       .bars = model::Chart::Bars::kIntervals,
                       .columns = {"value", "low", "high"}};
  table.style.second_chart = {.title = "Bandwidth",
                              .axis = "GB/s",
                              .bars = model::Chart::Bars::kScatter,
                              .columns = {"size", "value"},
                              .x_axis = "bytes"};
  model::Book book{"b"};
  book.tables.push_back(std::move(table));
  auto members = written(book);
  const std::string intervals = members["xl/charts/chart1.xml"];
  EXPECT_THAT(intervals, HasSubstr("<c:hiLowLines>"));
  EXPECT_THAT(intervals, HasSubstr("<c:f>T!$C$2:$C$3</c:f>"));
  const std::string bandwidth = members["xl/charts/chart2.xml"];
  EXPECT_THAT(bandwidth, HasSubstr("<c:logBase val=\"10\"/>"));
  EXPECT_THAT(bandwidth, HasSubstr("<c:f>T!$E$2:$E$3</c:f>"));
  // The header stays in the first row; the charts are below and on the page, the last columns not.
  EXPECT_THAT(members["xl/workbook.xml"], HasSubstr("_xlnm.Print_Area"));
  EXPECT_THAT(members["xl/workbook.xml"], testing::Not(HasSubstr(":$AS$")));
  EXPECT_THAT(members["xl/worksheets/sheet1.xml"], HasSubstr("fitToHeight=\"0\""));
  EXPECT_THAT(members["xl/drawings/drawing1.xml"], HasSubstr("<xdr:row>4</xdr:row>"));
}

TEST(Xlsx, VerdictsColorTheirRowsWhateverTheSizeOfTheChange) {
  auto members = written(dashboard());
  const std::string sheet = members["xl/worksheets/sheet1.xml"];
  for (const char* range : {"D21:D23", "E21:E23"})
    EXPECT_THAT(sheet, HasSubstr(std::string("<conditionalFormatting sqref=\"") + range));
  for (const char* word : {"Better", "Worse", "Same", "Unclear"})
    EXPECT_THAT(sheet, HasSubstr(std::string("<formula>$E21=\"") + word + "\"</formula>"));
  EXPECT_EQ(sheet.find("colorScale"), std::string::npos);
  const std::string styles = members["xl/styles.xml"];
  EXPECT_THAT(styles, HasSubstr("<bgColor rgb=\"FFB3D9EF\"/>"));  // better
  EXPECT_THAT(styles, HasSubstr("<bgColor rgb=\"FFF8CDB0\"/>"));  // worse
  EXPECT_THAT(styles, HasSubstr("<left style=\"dashed\">"));      // unclear
}

}  // namespace
}  // namespace assay::report
