#include "store/judging/quarantine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "core/statistics.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

constexpr const char* kProducts = "gemm_perf";
constexpr double kMostLaunches = 10;
constexpr double kFlat = 1.5;
constexpr double kLeastVisible = 1.0 / 20;
constexpr double kMostVisible = 1.0 / 3;
constexpr std::size_t kFirstRows = 5;
constexpr std::size_t kMostLookedAt = 4000;
constexpr double kTolerance = 0.05;
constexpr double kMostImpossible = 0.1;
constexpr std::size_t kSampledRows = 400;

// The median of a family's first rows, which are its smallest products, in ms; infinite if it has
// none. Some tables have rows of no tokens.
double launch_ms(const WorkRows& rows, std::size_t family) {
  std::vector<double> latencies;
  for (std::size_t row = rows.begins[family];
       row < rows.begins[family + 1] && latencies.size() < kFirstRows; ++row) {
    const auto sizes = rows.sizes_of(row);
    if (std::all_of(sizes.begin(), sizes.end(), [](double size) { return size > 0; }))
      latencies.push_back(rows.latencies[row]);
  }
  return latencies.empty() ? INFINITY : core::median(latencies);
}

struct Launch {
  double ms = INFINITY;
  std::string of;  // for users: "bfloat16", "fp8 of vllm 0.19.0"
};

Launch fastest_of(const WorkRows& rows, const std::string& name) {
  Launch fastest;
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    const double ms = launch_ms(rows, family);
    if (ms <= 0 || ms >= fastest.ms) continue;
    fastest = {.ms = ms, .of = work_text(rows, family) + (name.empty() ? "" : " of " + name)};
  }
  return fastest;
}

// That of the table in the middle, so that one bad table does not decide on others.
Launch usual_launch(const WorkRows& rows, std::span<const SiblingTable> siblings) {
  std::vector<Launch> launches = {fastest_of(rows, "")};
  for (const SiblingTable& sibling : siblings)
    launches.push_back(fastest_of(*sibling.rows, sibling.name));
  const auto middle = launches.begin() + static_cast<std::ptrdiff_t>((launches.size() - 1) / 2);
  std::nth_element(launches.begin(), middle, launches.end(),
                   [](const Launch& a, const Launch& b) { return a.ms < b.ms; });
  return *middle;
}

struct Flatness {
  std::size_t flat = 0;
  std::size_t total = 0;  // rows that would show their work if it were what takes the time
};

Flatness flatness_of(const WorkRows& rows,
                     std::size_t family,
                     const RooflineBinder& binder,
                     double launch) {
  Flatness flatness;
  const Roofline roofline = binder(rows.exact_fields(family), rows.sizes);
  if (!roofline) return flatness;
  for (const std::size_t row : sample_of(rows, family, kMostLookedAt)) {
    const double least = roofline(rows.sizes_of(row));
    if (least < kLeastVisible * launch || least > kMostVisible * launch) continue;
    ++flatness.total;
    flatness.flat += rows.latencies[row] < kFlat * launch ? 1 : 0;
  }
  return flatness;
}

std::vector<model::PerfField> key_of(const WorkRows& rows, std::size_t family, std::size_t row) {
  std::vector<model::PerfField> key = rows.exact_fields(family);
  for (std::size_t i = 0; i < rows.sizes.size(); ++i)
    key.push_back({.column = rows.sizes[i], .value = std::llround(rows.sizes_of(row)[i])});
  return key;
}

// The roofline of experts is that of the number of distinct experts to expect, and routing may have
// met fewer.
bool has_firm_rooflines(const WorkRows& rows, const Rooflines& rooflines) {
  const bool is_routed =
      std::any_of(rows.exact.begin(), rows.exact.end(),
                  [](const ExactColumn& column) { return column.name == "distribution"; });
  return rooflines.bound && !is_routed && !holds_differences(rows.table);
}

// The rows of a family that are impossible.
class Impossible {
 public:
  Impossible(const WorkRows& rows, std::size_t family, const Rooflines& rooflines)
      : rows_(rows),
        family_(family),
        rooflines_(rooflines),
        roofline_(rooflines.bound ? rooflines.bound(rows.exact_fields(family), rows.sizes)
                                  : nullptr) {}

  // The least time of an impossible row in ms; std::nullopt: the row is possible.
  [[nodiscard]] std::optional<double> least_ms(std::size_t row) const {
    if (!roofline_) return std::nullopt;
    const double ms = rows_.latencies[row];
    double least = roofline_(rows_.sizes_of(row));
    if (is_possible(ms, least)) return std::nullopt;
    if (rooflines_.cached) least = rooflines_.cached(key_of(rows_, family_, row));
    if (is_possible(ms, least)) return std::nullopt;
    return least;
  }

  // Of a sample of the rows.
  [[nodiscard]] double share() const {
    if (!roofline_) return 0;
    const auto sample = sample_of(rows_, family_, kSampledRows);
    const auto count = std::count_if(sample.begin(), sample.end(),
                                     [&](std::size_t row) { return least_ms(row).has_value(); });
    return sample.empty() ? 0 : static_cast<double>(count) / static_cast<double>(sample.size());
  }

 private:
  [[nodiscard]] static bool is_possible(double ms, double least) {
    return ms > 0 && ms >= (1 - kTolerance) * least;
  }

  const WorkRows& rows_;
  std::size_t family_;
  const Rooflines& rooflines_;
  Roofline roofline_;
};

std::string impossible_text(const WorkRows& rows,
                            std::size_t family,
                            std::size_t row,
                            double least_ms) {
  return fmt::format("{} {} takes {:.2f} us, but its bytes and operations take at least {:.2f} us",
                     work_text(rows, family), row_text(rows, row), rows.latencies[row] * 1e3,
                     least_ms * 1e3);
}

}  // namespace

std::vector<Quarantined> launch_bound_families(const WorkRows& rows,
                                               const RooflineBinder& binder,
                                               std::span<const SiblingTable> siblings) {
  std::vector<Quarantined> quarantined;
  if (rows.table != kProducts || !binder) return quarantined;
  const Launch usual = usual_launch(rows, siblings);
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    const double launch = launch_ms(rows, family);
    if (!std::isfinite(launch) || launch <= kMostLaunches * usual.ms) continue;
    const Flatness flatness = flatness_of(rows, family, binder, launch);
    if (flatness.total == 0 || 2 * flatness.flat < flatness.total) continue;
    quarantined.push_back(whole_family(
        rows, family,
        fmt::format(
            "{} products are bound by the host's launches: the smallest ({}) takes {:.1f} us, "
            "{:.0f} times that of {} ({:.1f} us), and {:.0f} % of {} larger ones that need "
            "{:.1f} to {:.1f} us take less than {:.1f} us",
            work_text(rows, family), row_text(rows, rows.begins[family]), launch * 1e3,
            launch / usual.ms, usual.of, usual.ms * 1e3,
            100.0 * static_cast<double>(flatness.flat) / static_cast<double>(flatness.total),
            flatness.total, kLeastVisible * launch * 1e3, kMostVisible * launch * 1e3,
            kFlat * launch * 1e3),
        sound_sibling(rows, family, siblings, [&](const WorkRows& others, std::size_t other) {
          return launch_ms(others, other) <= kMostLaunches * usual.ms;
        })));
  }
  return quarantined;
}

std::vector<Quarantined> impossible_families(const WorkRows& rows,
                                             const Rooflines& rooflines,
                                             std::span<const SiblingTable> siblings) {
  std::vector<Quarantined> quarantined;
  if (!has_firm_rooflines(rows, rooflines)) return quarantined;
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    const Impossible impossible(rows, family, rooflines);
    const double share = impossible.share();
    if (share <= kMostImpossible) continue;
    std::size_t row = rows.begins[family];
    while (!impossible.least_ms(row))
      ++row;
    quarantined.push_back(whole_family(
        rows, family,
        fmt::format("{:.0f} % of the rows are faster than the hardware: {}", 100 * share,
                    impossible_text(rows, family, row, *impossible.least_ms(row))),
        sound_sibling(rows, family, siblings, [&](const WorkRows& others, std::size_t other) {
          return Impossible(others, other, rooflines).share() <= kMostImpossible;
        })));
  }
  return quarantined;
}

std::vector<Quarantined> quarantined_families(const WorkRows& rows,
                                              const Rooflines& rooflines,
                                              std::span<const SiblingTable> siblings) {
  std::vector<Quarantined> all = launch_bound_families(rows, rooflines.bound, siblings);
  for (Quarantined& family : impossible_families(rows, rooflines, siblings))
    all.push_back(std::move(family));
  return all;
}

std::vector<Quarantined> impossible_rows(const WorkRows& rows, const Rooflines& rooflines) {
  std::vector<Quarantined> quarantined;
  if (!has_firm_rooflines(rows, rooflines)) return quarantined;
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    const Impossible impossible(rows, family, rooflines);
    for (std::size_t row = rows.begins[family]; row < rows.begins[family + 1]; ++row) {
      const auto least = impossible.least_ms(row);
      if (!least) continue;
      Quarantined* before = quarantined.empty() ? nullptr : &quarantined.back();
      if (before != nullptr && before->family == family && before->end == row) {
        before->end = row + 1;
        continue;
      }
      quarantined.push_back({.family = family,
                             .begin = row,
                             .end = row + 1,
                             .reason = impossible_text(rows, family, row, *least),
                             .fallback = {}});
    }
  }
  return quarantined;
}

std::vector<std::size_t> quarantined_numbers(std::span<const Quarantined> quarantined) {
  std::set<std::size_t> families;
  for (const Quarantined& part : quarantined)
    families.insert(part.family);
  return {families.begin(), families.end()};
}

}  // namespace assay::store
