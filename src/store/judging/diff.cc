#include "store/judging/diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

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

constexpr std::int64_t kExamples = 3;

// How a row was measured, as Store::Columns::kWithConditions tells it; files do not.
constexpr std::array<std::string_view, 4> kConditions = {"launch", "l2", "throttled", "driver"};

std::string column_of_condition(std::string_view condition) {
  return "condition_" + std::string(condition);
}

bool is_condition(std::string_view column) {
  return std::any_of(kConditions.begin(), kConditions.end(), [&](std::string_view condition) {
    return column == column_of_condition(condition);
  });
}

// The rows of one side; those with equal keys stand together, the fastest first.
class Side {
 public:
  Side(Frame frame, const std::vector<std::string>& ignored)
      : frame_(std::move(frame)), writer_(key_columns(frame_, ignored)) {
    const FrameColumn* latency = frame_.find("latency");
    for (std::size_t row = 0; row < frame_.num_rows(); ++row) {
      const double ms = latency == nullptr ? std::nan("") : number_at(*latency, row);
      rows_.push_back({.hash = stable_hash(writer_.write_named(row)), .ms = ms, .row = row});
    }
    std::sort(rows_.begin(), rows_.end());
    for (std::size_t i = 0; i < kConditions.size(); ++i)
      conditions_[i] = frame_.find(column_of_condition(kConditions[i]));
  }

  [[nodiscard]] std::size_t size() const { return rows_.size(); }

  [[nodiscard]] std::uint64_t hash(std::size_t at) const { return rows_[at].hash; }

  // The place behind the rows that have the key of this one.
  [[nodiscard]] std::size_t end_of_key(std::size_t at) const {
    std::size_t end = at + 1;
    while (end < rows_.size() && rows_[end].hash == rows_[at].hash)
      ++end;
    return end;
  }

  std::string key(std::size_t at) { return std::string(writer_.write_named(rows_[at].row)); }

  // NaN if the row has none.
  [[nodiscard]] double latency(std::size_t at) const { return rows_[at].ms; }

  // "hot"; empty if it is unknown.
  [[nodiscard]] std::string condition(std::size_t at, std::size_t number) const {
    const FrameColumn* column = conditions_[number];
    if (column == nullptr || column->is_missing(rows_[at].row)) return "";
    std::string text = value_text(column->value(rows_[at].row));
    if (kConditions[number] != "throttled") return text;
    return text == "0" ? "no" : "yes";
  }

 private:
  struct SortedRow {
    std::uint64_t hash = 0;
    double ms = 0;
    std::size_t row = 0;

    bool operator<(const SortedRow& other) const {
      const auto rank = [](const SortedRow& one) {
        return std::tuple(one.hash, std::isnan(one.ms), std::isnan(one.ms) ? 0 : one.ms, one.row);
      };
      return rank(*this) < rank(other);
    }
  };

  // Sorted by name, as two sides may have them in different orders. The common columns come last:
  // who reads a key looks for the others.
  static std::vector<const FrameColumn*> key_columns(const Frame& frame,
                                                     const std::vector<std::string>& ignored) {
    std::vector<const FrameColumn*> columns;
    for (const FrameColumn& column : frame.columns) {
      const bool skip = is_value_column(column.name) || is_condition(column.name) ||
                        std::find(ignored.begin(), ignored.end(), column.name) != ignored.end();
      if (!skip) columns.push_back(&column);
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
  std::vector<SortedRow> rows_;
  std::array<const FrameColumn*, kConditions.size()> conditions_ = {};  // null: unknown
};

bool same_latency(double a_ms, double b_ms) {
  return a_ms == b_ms || (std::isnan(a_ms) && std::isnan(b_ms));
}

class Comparison {
 public:
  // `a` and `b` must outlive the comparison.
  Comparison(const std::string& table, Side& a, Side& b, const DiffRequest& request)
      : a_(a), b_(b), request_(request) {
    result_.table = table;
    result_.a_rows = static_cast<std::int64_t>(a_.size());
    result_.b_rows = static_cast<std::int64_t>(b_.size());
  }

  TableDiff run(std::vector<RowDiff>& worst) {
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a_.size() || j < b_.size()) {
      if (j == b_.size() || (i < a_.size() && a_.hash(i) < b_.hash(j))) {
        add_only_a(i++);
      } else if (i == a_.size() || b_.hash(j) < a_.hash(i)) {
        add_only_b(j++);
      } else {
        const std::size_t end_i = a_.end_of_key(i);
        const std::size_t end_j = b_.end_of_key(j);
        add_key({i, end_i}, {j, end_j}, worst);
        i = end_i;
        j = end_j;
      }
    }
    result_.p10_ratio = core::quantile(ratios_, 0.1);
    result_.median_ratio = core::quantile(ratios_, 0.5);
    result_.p90_ratio = core::quantile(ratios_, 0.9);
    for (auto& [what, rows] : conditions_) {
      const auto& [number, of_a, of_b] = what;
      result_.conditions.push_back(
          {.condition = std::string(kConditions[number]), .a = of_a, .b = of_b, .rows = rows});
    }
    return std::move(result_);
  }

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;

    [[nodiscard]] std::size_t size() const { return end - begin; }
  };

  void add_only_a(std::size_t at) {
    if (++result_.only_a <= kExamples) result_.example_only_a.push_back(a_.key(at));
  }

  void add_only_b(std::size_t at) {
    if (++result_.only_b <= kExamples) result_.example_only_b.push_back(b_.key(at));
  }

  // Nothing tells which of several rows belong together, unless it makes no difference: whichever
  // pairs are taken, all are slower, or faster, beyond the threshold, or none is.
  [[nodiscard]] bool is_ambiguous(Range a, Range b) const {
    const double least = b_.latency(b.begin) / a_.latency(a.end - 1);
    const double most = b_.latency(b.end - 1) / a_.latency(a.begin);
    if (least - 1 > request_.threshold || 1 - most > request_.threshold) return false;
    if (1 - least <= request_.threshold && most - 1 <= request_.threshold) return false;
    const auto is_one_time = [](const Side& side, Range rows) {
      return same_latency(side.latency(rows.begin), side.latency(rows.end - 1));
    };
    if (is_one_time(a_, a) && is_one_time(b_, b)) return false;
    if (a.size() != b.size()) return true;
    for (std::size_t k = 0; k < a.size(); ++k)
      if (!same_latency(a_.latency(a.begin + k), b_.latency(b.begin + k))) return true;
    return false;
  }

  void add_key(Range a, Range b, std::vector<RowDiff>& worst) {
    if (is_ambiguous(a, b)) {
      if (result_.ambiguous++ == 0) result_.example_ambiguous = a_.key(a.begin);
      return;
    }
    const std::size_t pairs = std::min(a.size(), b.size());
    for (std::size_t k = 0; k < pairs; ++k)
      add_pair(a.begin + k, b.begin + k, worst);
    for (std::size_t i = a.begin + pairs; i < a.end; ++i)
      add_only_a(i);
    for (std::size_t j = b.begin + pairs; j < b.end; ++j)
      add_only_b(j);
  }

  void add_conditions(std::size_t i, std::size_t j) {
    for (std::size_t number = 0; number < kConditions.size(); ++number) {
      std::string of_a = a_.condition(i, number);
      std::string of_b = b_.condition(j, number);
      if (of_a.empty() || of_b.empty() || of_a == of_b) continue;
      ++conditions_[{number, std::move(of_a), std::move(of_b)}];
    }
  }

  void add_pair(std::size_t i, std::size_t j, std::vector<RowDiff>& worst) {
    ++result_.both;
    const double a_ms = a_.latency(i);
    const double b_ms = b_.latency(j);
    if (std::isnan(a_ms) || std::isnan(b_ms)) return;
    ++result_.compared;
    add_conditions(i, j);
    // Some public tables have rows of 0 ms.
    const double ratio = a_ms == b_ms ? 1 : b_ms / a_ms;
    if (std::isfinite(ratio)) ratios_.push_back(ratio);
    if (a_ms == b_ms) return;
    ++result_.different;
    if (ratio - 1 > request_.threshold) ++result_.slower;
    if (1 - ratio > request_.threshold) ++result_.faster;
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
    const bool full = worst.size() >= request_.most_worst;
    if (full && place == worst.end()) return;
    row.key = a_.key(at);
    worst.insert(place, std::move(row));
    if (full) worst.pop_back();
  }

  Side& a_;
  Side& b_;
  const DiffRequest& request_;
  TableDiff result_;
  std::vector<double> ratios_;
  // By the number of the condition, and what it is in A and in B.
  std::map<std::tuple<std::size_t, std::string, std::string>, std::int64_t> conditions_;
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
  return store.table({.table = table}, Store::Columns::kWithConditions);
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

std::int64_t DiffResult::ambiguous() const {
  std::int64_t keys = 0;
  for (const TableDiff& table : tables)
    keys += table.ambiguous;
  return keys;
}

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
    Side of_a(ASSAY_TRY(rows_of(a, table)), request.ignored);
    Side of_b(ASSAY_TRY(rows_of(b, table)), request.ignored);
    result.tables.push_back(Comparison(table, of_a, of_b, request).run(result.worst));
  }
  return result;
}

}  // namespace assay::store
