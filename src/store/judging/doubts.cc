#include "store/judging/doubts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/counted.h"
#include "core/statistics.h"

namespace assay::store {
namespace {

constexpr double kSlow = 3;
constexpr std::size_t kLeastCommonRows = 20;
constexpr std::size_t kLeastSiblings = 2;
constexpr std::size_t kMostCompared = 4000;

std::string value_of(const WorkRows& rows, std::size_t family, std::string_view column) {
  for (std::size_t i = 0; i < rows.exact.size(); ++i) {
    if (rows.exact[i].name == column) return rows.exact[i].values[rows.codes_of(family)[i]];
  }
  return "";
}

// Rows of another table with the same sizes, by binary search: both tables are in one order.
class RowFinder {
 public:
  RowFinder(const WorkRows& rows, std::size_t along) : rows_(rows), along_(along) {}

  [[nodiscard]] std::optional<std::size_t> find(std::size_t family,
                                                std::span<const double> sizes) const {
    std::size_t low = rows_.begins[family];
    std::size_t high = rows_.begins[family + 1];
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      const int order = compare(rows_.sizes_of(middle), sizes);
      if (order == 0) return middle;
      if (order < 0) low = middle + 1;
      if (order > 0) high = middle;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] int compare(std::span<const double> a, std::span<const double> b) const {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (i != along_ && a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    }
    if (along_ >= a.size() || a[along_] == b[along_]) return 0;
    return a[along_] < b[along_] ? -1 : 1;
  }

  const WorkRows& rows_;
  std::size_t along_;
};

std::size_t along_of_rows(const WorkRows& rows) {
  if (rows.work.axes.empty()) return rows.sizes.size();
  const auto found =
      std::find(rows.sizes.begin(), rows.sizes.end(), rows.work.axes.front().times.front());
  return static_cast<std::size_t>(found - rows.sizes.begin());
}

// How many times longer rows take than those of a family of another table, one for each common row.
std::vector<double> ratios_to(const WorkRows& rows,
                              std::size_t family,
                              const WorkRows& others,
                              std::size_t other) {
  std::vector<double> ratios;
  const RowFinder finder(others, along_of_rows(others));
  for (const std::size_t row : sample_of(rows, family, kMostCompared)) {
    const auto found = finder.find(other, rows.sizes_of(row));
    if (found && others.latencies[*found] > 0)
      ratios.push_back(rows.latencies[row] / others.latencies[*found]);
  }
  return ratios;
}

struct Slowness {
  double ratio = INFINITY;  // to the sibling that is nearest
  std::string nearest;
  std::size_t siblings = 0;
  std::size_t rows = 0;  // in common with the nearest
};

Slowness slowness_of(const WorkRows& rows,
                     std::size_t family,
                     std::span<const SiblingTable> siblings) {
  Slowness slowness;
  for (const SiblingTable& sibling : siblings) {
    if (sibling.rows->sizes != rows.sizes) continue;
    std::vector<double> ratios;
    for (const std::size_t other : alike(rows, family, *sibling.rows)) {
      const auto more = ratios_to(rows, family, *sibling.rows, other);
      ratios.insert(ratios.end(), more.begin(), more.end());
    }
    if (ratios.size() < kLeastCommonRows) continue;
    ++slowness.siblings;
    const double ratio = core::median(ratios);
    if (ratio >= slowness.ratio) continue;
    slowness.ratio = ratio;
    slowness.nearest = sibling.name;
    slowness.rows = ratios.size();
  }
  return slowness;
}

}  // namespace

std::vector<std::string> version_doubts(const WorkRows& rows, const std::string& folder_version) {
  std::map<std::string, std::size_t> counts;
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    const std::string version = value_of(rows, family, "version");
    if (version.empty() || version == folder_version) continue;
    const std::string framework = value_of(rows, family, "framework");
    counts[framework + (framework.empty() ? "" : " ") + version] +=
        rows.begins[family + 1] - rows.begins[family];
  }
  std::vector<std::string> doubts;
  for (const auto& [program, count] : counts) {
    doubts.push_back(fmt::format("{} of {} of {} {} of {}, but {} in the folder of {}", count,
                                 core::counted(rows.num_rows(), "row"), rows.table,
                                 count == 1 ? "is" : "are", program, count == 1 ? "lies" : "lie",
                                 folder_version));
  }
  return doubts;
}

std::vector<Quarantined> slow_families(const WorkRows& rows,
                                       std::span<const SiblingTable> siblings) {
  std::vector<Quarantined> slow;
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    const Slowness slowness = slowness_of(rows, family, siblings);
    if (slowness.siblings < kLeastSiblings || slowness.ratio <= kSlow) continue;
    slow.push_back(whole_family(
        rows, family,
        fmt::format("{} takes {:.1f} times as long as {}, the nearest of {} tables ({} rows)",
                    work_text(rows, family), slowness.ratio, slowness.nearest, slowness.siblings,
                    slowness.rows),
        slowness.nearest));
  }
  return slow;
}

}  // namespace assay::store
