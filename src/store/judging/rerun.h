// Points that were measured again: how far the second time is from the first, and whether that is
// too far.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/table.h"
#include "store/database/store.h"

namespace assay::store {

struct Rerun {
  std::string table;
  std::string where;                // "gemm gemm_dtype=fp8 m=1 n=32 k=64"
  double first_ms = 0;              // latencies
  std::optional<double> second_ms;  // std::nullopt if it could not be measured again
  std::string remark = {};          // what else is known: another kernel, or lowered clocks
};

// |second / first - 1|. std::nullopt: the point was not measured again, or its first time was not
// positive, and the second time is another one.
std::optional<double> deviation(const Rerun& rerun);

struct RerunResult {
  std::string table;
  std::int64_t points = 0;
  std::int64_t beyond = 0;  // points that deviate by more than the limit, or have no deviation
  std::int64_t lost = 0;    // of these, the points that were not measured again
  std::optional<double> median = {};
  std::optional<double> p90 = {};
  std::optional<double> worst = {};

  [[nodiscard]] double share() const {
    return points == 0 ? 0 : static_cast<double>(beyond) / static_cast<double>(points);
  }
};

// A point measured again may differ from its first time by this part of it.
inline constexpr double kRerunLimit = 0.10;

// One result for each table, in the order of their names.
std::vector<RerunResult> compare_reruns(const std::vector<Rerun>& reruns, double limit);

// The points beyond the limit, the worst first, at most `most` of them.
std::vector<Rerun> worst_reruns(std::vector<Rerun> reruns, double limit, std::size_t most);

// Pairs the rows that two runs have of the same cases. The cases of `again`, whatever their
// outcome, must be cases that `first` measured.
core::Result<std::vector<Rerun>> reruns_of(const Store& store,
                                           std::int64_t first,
                                           std::int64_t again);

struct RerunReport {
  // The results by table, and the worst points if any is beyond the limit.
  std::vector<model::Table> tables;
  // The tables in which a larger share of points than `max_share` is beyond the limit, in words.
  std::vector<std::string> failures = {};
};

// Judges the points of the collection of `started_at` that were measured again. Without `max_share`
// none fails.
RerunReport rerun_report(const std::string& started_at,
                         const std::vector<Rerun>& reruns,
                         std::optional<double> max_share);

}  // namespace assay::store
