// Compares two sets of performance tables: rows that only one has, and how latencies differ.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/table.h"
#include "model/warnings.h"
#include "store/database/store.h"

namespace assay::store {

struct DiffRequest {
  std::vector<std::string> tables = {};   // empty for all
  std::vector<std::string> ignored = {};  // columns that need not be equal: "version"
  double threshold = 0.1;                 // a latency that differs by a larger share counts
  std::size_t most_worst = 10;
};

struct RowDiff {
  std::string table;
  std::string key;  // JSON
  double a_ms = 0;
  double b_ms = 0;
  double ratio = 0;  // b / a
};

// Rows that the sides measured in two ways: with the L2 cache hot in A and cold in B.
struct ConditionDiff {
  std::string condition;  // "launch", "l2", "throttled" or "driver"
  std::string a;
  std::string b;
  std::int64_t rows = 0;
};

struct TableDiff {
  std::string table;
  std::int64_t a_rows = 0;
  std::int64_t b_rows = 0;
  std::int64_t only_a = 0;
  std::int64_t only_b = 0;
  // Keys of both sides that several rows of a side have, with several times; these rows count
  // nowhere else.
  std::int64_t ambiguous = 0;
  std::int64_t both = 0;       // rows that both have
  std::int64_t compared = 0;   // of these: with a latency in both
  std::int64_t different = 0;  // of those compared: not the same number
  std::int64_t slower = 0;     // of those compared: B by more than the threshold
  std::int64_t faster = 0;
  double p10_ratio = 0;  // of b to a; NaN if nothing was compared
  double median_ratio = 0;
  double p90_ratio = 0;
  std::vector<std::string> example_only_a = {};  // keys, JSON
  std::vector<std::string> example_only_b = {};
  std::string example_ambiguous = {};
  std::vector<ConditionDiff> conditions = {};  // of the rows compared

  [[nodiscard]] double share_beyond() const { return share(slower + faster); }

  [[nodiscard]] double share_slower() const { return share(slower); }

  [[nodiscard]] double share_ambiguous() const {
    return ambiguous == 0
               ? 0
               : static_cast<double>(ambiguous) / static_cast<double>(ambiguous + compared);
  }

 private:
  [[nodiscard]] double share(std::int64_t rows) const {
    return compared == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(compared);
  }
};

struct DiffResult {
  std::vector<TableDiff> tables;
  std::vector<RowDiff> worst;  // those whose ratio is farthest from 1 first

  // The keys of all tables that say nothing since several rows have them.
  [[nodiscard]] std::int64_t ambiguous() const;
  // The rows of all tables that both have, and those of them whose latencies were compared.
  [[nodiscard]] std::int64_t both() const;
  [[nodiscard]] std::int64_t compared() const;
};

// Opens a store, or a shipped one by its name; a file or folder of perf tables is read into memory.
// The error names a bad file.
core::Result<Store> open_tables(const std::filesystem::path& path, model::Warnings& repairs);

// Rows with the same values in all columns but latency and power are compared. Where a side has
// several such rows they are compared if that makes no difference: their times are equal, those of
// both sides are the same, or whichever are paired, all or none are beyond the threshold. Else they
// are ambiguous.
core::Result<DiffResult> diff(const Store& a, const Store& b, const DiffRequest& request);

// Returns the tables of the comparison; those of the worst and of single rows only if there are
// any. `threshold` is that of the request.
std::vector<model::Table> diff_tables(const DiffResult& result, double threshold);

// Returns in words the tables of which both sides have rows, but of whose rows no latency could be
// compared.
std::vector<std::string> diff_without_latencies(const DiffResult& result);

// Returns in words the tables with rows that were not compared since several have one key.
std::vector<std::string> diff_ambiguous(const DiffResult& result);

// The shares of a table's rows that may be beyond the threshold; std::nullopt if any may.
struct DiffLimits {
  std::optional<double> share = {};
  std::optional<double> slower = {};  // counts only rows that are slower in B
};

// Returns in words the tables that exceed a limit.
std::vector<std::string> diff_failures(const DiffResult& result,
                                       double threshold,
                                       const DiffLimits& limits);

}  // namespace assay::store
