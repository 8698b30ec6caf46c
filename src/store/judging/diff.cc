#include "store/judging/diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/counted.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/statistics.h"
#include "core/text.h"
#include "store/database/store_import.h"
#include "store/database/store_key.h"
#include "store/files/table_spec.h"
#include "store/systems/shipped.h"

namespace assay::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kExamples = 3;

// The rows of one side; those with equal keys stand together.
class Side {
 public:
  Side(Frame frame, const std::vector<std::string>& ignored)
      : frame_(std::move(frame)), writer_(key_columns(frame_, ignored)) {
    rows_.resize(frame_.num_rows());
    for (std::size_t row = 0; row < rows_.size(); ++row)
      rows_[row] = {stable_hash(writer_.write_named(row)), row};
    std::sort(rows_.begin(), rows_.end());
  }

  [[nodiscard]] std::size_t size() const { return rows_.size(); }

  [[nodiscard]] std::uint64_t hash(std::size_t at) const { return rows_[at].first; }

  std::string key(std::size_t at) { return std::string(writer_.write_named(rows_[at].second)); }

  // NaN if the row has none.
  [[nodiscard]] double latency(std::size_t at) const {
    const FrameColumn* column = frame_.find("latency");
    if (column == nullptr || column->is_missing(rows_[at].second)) return std::nan("");
    const model::PerfValue value = column->value(rows_[at].second);
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    const auto* real = std::get_if<double>(&value);
    return real == nullptr ? std::nan("") : *real;
  }

 private:
  // Sorted by name, as two sides may have them in different orders. The common columns come last:
  // who reads a key looks for the others.
  static std::vector<const FrameColumn*> key_columns(const Frame& frame,
                                                     const std::vector<std::string>& ignored) {
    std::vector<const FrameColumn*> columns;
    for (const FrameColumn& column : frame.columns) {
      const bool skip = std::find(ignored.begin(), ignored.end(), column.name) != ignored.end();
      if (!is_value_column(column.name) && !skip) columns.push_back(&column);
    }
    std::sort(columns.begin(), columns.end(), [](const FrameColumn* a, const FrameColumn* b) {
      const auto place = [](const FrameColumn* column) {
        return std::pair(is_common_column(column->name), std::string_view(column->name));
      };
      return place(a) < place(b);
    });
    return columns;
  }

  Frame frame_;
  KeyWriter writer_;
  std::vector<std::pair<std::uint64_t, std::size_t>> rows_;
};

class Comparison {
 public:
  Comparison(const std::string& table, Side a, Side b, const DiffRequest& request)
      : a_(std::move(a)), b_(std::move(b)), request_(&request) {
    result_.table = table;
    result_.a_rows = static_cast<std::int64_t>(a_.size());
    result_.b_rows = static_cast<std::int64_t>(b_.size());
  }

  TableDiff run(std::vector<RowDiff>& worst) {
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a_.size() || j < b_.size()) {
      if (j == b_.size() || (i < a_.size() && a_.hash(i) < b_.hash(j))) {
        add_single(a_, i++, result_.only_a, result_.example_only_a);
      } else if (i == a_.size() || b_.hash(j) < a_.hash(i)) {
        add_single(b_, j++, result_.only_b, result_.example_only_b);
      } else {
        add_pair(i++, j++, worst);
      }
    }
    result_.p10_ratio = core::quantile(ratios_, 0.1);
    result_.median_ratio = core::quantile(ratios_, 0.5);
    result_.p90_ratio = core::quantile(ratios_, 0.9);
    return std::move(result_);
  }

 private:
  static void add_single(Side& side,
                         std::size_t at,
                         std::int64_t& count,
                         std::vector<std::string>& examples) {
    if (++count <= static_cast<std::int64_t>(kExamples)) examples.push_back(side.key(at));
  }

  void add_pair(std::size_t i, std::size_t j, std::vector<RowDiff>& worst) {
    ++result_.both;
    const double a_ms = a_.latency(i);
    const double b_ms = b_.latency(j);
    if (std::isnan(a_ms) || std::isnan(b_ms)) return;
    ++result_.compared;
    // Some public tables have rows of 0 ms.
    const double ratio = a_ms == b_ms ? 1 : b_ms / a_ms;
    if (std::isfinite(ratio)) ratios_.push_back(ratio);
    if (a_ms == b_ms) return;
    ++result_.different;
    if (std::abs(ratio - 1) > request_->threshold) ++result_.beyond;
    add_worst({.table = result_.table, .key = "", .a_ms = a_ms, .b_ms = b_ms, .ratio = ratio}, i,
              worst);
  }

  static double distance(double ratio) { return std::abs(std::log(ratio)); }

  // Keeps the rows sorted.
  void add_worst(RowDiff row, std::size_t at, std::vector<RowDiff>& worst) {
    const auto farther = [](const RowDiff& x, const RowDiff& y) {
      return distance(x.ratio) > distance(y.ratio);
    };
    const auto place = std::upper_bound(worst.begin(), worst.end(), row, farther);
    const bool full = worst.size() >= request_->most_worst;
    if (full && place == worst.end()) return;
    row.key = a_.key(at);
    worst.insert(place, std::move(row));
    if (full) worst.pop_back();
  }

  Side a_;
  Side b_;
  const DiffRequest* request_;
  TableDiff result_;
  std::vector<double> ratios_;
};

core::Result<std::set<std::string>> tables_to_compare(const Store& a,
                                                      const Store& b,
                                                      const DiffRequest& request) {
  std::set<std::string> both;
  for (const Store* store : {&a, &b}) {
    const std::vector<std::string> names = ASSAY_TRY(store->tables());
    both.insert(names.begin(), names.end());
  }
  if (request.tables.empty()) return both;
  for (const std::string& table : request.tables) {
    if (both.count(table) == 0) return core::Error{"neither side has a table '" + table + "'"};
  }
  return std::set<std::string>(request.tables.begin(), request.tables.end());
}

core::Result<Frame> rows_of(const Store& store, const std::string& table) {
  const std::vector<std::string> names = ASSAY_TRY(store.tables());
  if (std::find(names.begin(), names.end(), table) == names.end()) return Frame{};
  return store.table({.table = table}, Store::Columns::kPublic);
}

model::Table compared_tables(const std::vector<TableDiff>& diffs, double threshold) {
  model::Table table{
      .name = "tables",
      .title = "Rows of A and B, compared",
      .columns = {{.name = "table"},
                  {.name = "A", .description = "rows"},
                  {.name = "B", .description = "rows"},
                  {.name = "only A"},
                  {.name = "only B"},
                  {.name = "both", .description = "rows that both have"},
                  {.name = "compared", .description = "of these: both have a latency"},
                  {.name = "differ", .description = "of those compared: not the same number"},
                  {.name = "p10"},
                  {.name = "median"},
                  {.name = "p90"},
                  {.name = "beyond", .unit = "%"}}};
  table.notes.push_back(fmt::format(
      "p10, median, p90: ratios B / A of latencies; beyond: rows compared that differ by more "
      "than {:g} %",
      100 * threshold));
  for (const TableDiff& diff : diffs) {
    table.add_row({diff.table, diff.a_rows, diff.b_rows, diff.only_a, diff.only_b, diff.both,
                   diff.compared, diff.different, model::cell_of(diff.p10_ratio),
                   model::cell_of(diff.median_ratio), model::cell_of(diff.p90_ratio),
                   100 * diff.share_beyond()});
  }
  return table;
}

model::Table worst_table(const std::vector<RowDiff>& worst) {
  model::Table table{.name = "worst",
                     .title = "Rows that differ most",
                     .columns = {{.name = "table"},
                                 {.name = "A", .unit = "ms"},
                                 {.name = "B", .unit = "ms"},
                                 {.name = "ratio"},
                                 {.name = "row"}}};
  for (const RowDiff& row : worst)
    table.add_row({row.table, row.a_ms, row.b_ms, model::cell_of(row.ratio), row.key});
  return table;
}

model::Table single_table(const std::vector<TableDiff>& diffs) {
  model::Table table{.name = "single",
                     .title = "Rows that only one side has, first examples",
                     .columns = {{.name = "table"}, {.name = "only in"}, {.name = "row"}}};
  for (const TableDiff& diff : diffs) {
    for (const std::string& key : diff.example_only_a)
      table.add_row({diff.table, "A", key});
    for (const std::string& key : diff.example_only_b)
      table.add_row({diff.table, "B", key});
  }
  return table;
}

// A misspelt column would ignore nothing, in silence. This looks at no row, since a comparison may
// take minutes.
core::Status check_ignored(const Store& a,
                           const Store& b,
                           const std::set<std::string>& tables,
                           const std::vector<std::string>& ignored) {
  std::set<std::string> columns;
  for (const std::string& table : tables) {
    for (const Store* store : {&a, &b}) {
      const std::vector<std::string> names = ASSAY_TRY(store->columns(table));
      columns.insert(names.begin(), names.end());
    }
  }
  for (const std::string& name : ignored) {
    if (columns.empty() || columns.contains(name)) continue;
    const std::string near =
        core::nearest(name, std::vector<std::string>(columns.begin(), columns.end()));
    return core::Error{fmt::format("--ignore: no table has a column '{}'{}", name,
                                   near.empty() ? "" : "; did you mean '" + near + "'?")};
  }
  return {};
}

}  // namespace

std::int64_t DiffResult::both() const {
  std::int64_t rows = 0;
  for (const TableDiff& table : tables)
    rows += table.both;
  return rows;
}

std::int64_t DiffResult::compared() const {
  std::int64_t rows = 0;
  for (const TableDiff& table : tables)
    rows += table.compared;
  return rows;
}

std::vector<model::Table> diff_tables(const DiffResult& result, double threshold) {
  std::vector<model::Table> tables{compared_tables(result.tables, threshold)};
  if (!result.worst.empty()) tables.push_back(worst_table(result.worst));
  model::Table single = single_table(result.tables);
  if (!single.cells.empty()) tables.push_back(std::move(single));
  return tables;
}

std::vector<std::string> diff_without_latencies(const DiffResult& result) {
  std::vector<std::string> found;
  for (const TableDiff& diff : result.tables) {
    if (diff.both == 0 || diff.compared > 0) continue;
    const std::string rows =
        core::counted(diff.both, "row of both sides lacks", "rows of both sides lack");
    found.push_back(
        fmt::format("{}: no latency was compared: {} one; what is equal is their other columns",
                    diff.table, rows));
  }
  return found;
}

std::vector<std::string> diff_failures(const DiffResult& result,
                                       double threshold,
                                       double max_share) {
  std::vector<std::string> failures;
  for (const TableDiff& diff : result.tables) {
    if (diff.share_beyond() <= max_share) continue;
    failures.push_back(fmt::format("{}: {:.2f} % of {} by more than {:g} %; {:g} % may", diff.table,
                                   100 * diff.share_beyond(),
                                   core::counted(diff.compared, "row differs", "rows differ"),
                                   100 * threshold, 100 * max_share));
  }
  return failures;
}

core::Result<Store> open_tables(const fs::path& path, model::Warnings& repairs) {
  const ShippedSystem* shipped = core::is_folder(path) ? nullptr : shipped_at(path);
  if (shipped != nullptr) return open_shipped(*shipped);
  ASSAY_TRY(check_shipped_name(path));
  if (!core::is_folder(path) && is_store(path)) return Store::open(path, Store::Mode::kRead);
  const std::vector<fs::path> files = ASSAY_TRY(find_perf_files(path));
  Store store = ASSAY_TRY(Store::in_memory());
  Importer importer = ASSAY_TRY(Importer::into(store));
  for (const fs::path& file : files) {
    ASSAY_TRY(core::check_interrupt());
    const ImportedFile imported = ASSAY_TRY(importer.import(file));
    if (imported.outcome == ImportedFile::Outcome::kFailed) return core::Error{imported.note};
    repairs.merge(imported.repairs, imported.path.string());
  }
  return store;
}

core::Result<DiffResult> diff(const Store& a, const Store& b, const DiffRequest& request) {
  DiffResult result;
  const std::set<std::string> tables = ASSAY_TRY(tables_to_compare(a, b, request));
  ASSAY_TRY(check_ignored(a, b, tables, request.ignored));
  for (const std::string& table : tables) {
    ASSAY_TRY(core::check_interrupt());
    Frame of_a = ASSAY_TRY(rows_of(a, table));
    Frame of_b = ASSAY_TRY(rows_of(b, table));
    Comparison comparison(table, Side(std::move(of_a), request.ignored),
                          Side(std::move(of_b), request.ignored), request);
    result.tables.push_back(comparison.run(result.worst));
  }
  return result;
}

}  // namespace assay::store
