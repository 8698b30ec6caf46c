#include "store/answers/work_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/text.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

// What the spans of rows that were made here lie in.
struct OwnedRows {
  std::vector<std::uint32_t> codes;
  std::vector<std::uint64_t> begins = {0};
  std::vector<double> values;
  std::vector<double> latencies;
  std::vector<RowInterval> intervals;
  std::vector<double> watts;
  std::vector<std::uint8_t> throttled;
};

void point_into(WorkRows& rows, std::shared_ptr<const OwnedRows> owned) {
  rows.codes = owned->codes;
  rows.begins = owned->begins;
  rows.values = owned->values;
  rows.latencies = owned->latencies;
  rows.intervals = owned->intervals;
  rows.watts = owned->watts;
  rows.throttled = owned->throttled;
  rows.data = std::move(owned);
}

// The size that curves run along: the first column of the first quantity.
std::size_t along_of(const Work& work, const std::vector<std::string>& sizes) {
  if (work.axes.empty()) return 0;
  const auto found = std::find(sizes.begin(), sizes.end(), work.axes.front().times.front());
  return static_cast<std::size_t>(found - sizes.begin());
}

class RowOrder {
 public:
  RowOrder(const GroupedRows& grouped, std::size_t along)
      : grouped_(grouped), count_(grouped.sizes.size()), along_(along) {}

  bool operator()(std::uint32_t a, std::uint32_t b) const {
    const double* left = grouped_.size_values.data() + a * count_;
    const double* right = grouped_.size_values.data() + b * count_;
    for (std::size_t i = 0; i < count_; ++i) {
      if (i != along_ && left[i] != right[i]) return left[i] < right[i];
    }
    return along_ < count_ && left[along_] < right[along_];
  }

 private:
  const GroupedRows& grouped_;
  std::size_t count_;
  std::size_t along_;
};

RowInterval interval_at(const GroupedRows& grouped, std::uint32_t row) {
  if (grouped.intervals.empty() || !grouped.intervals[row]) return {};
  const MedianInterval& interval = *grouped.intervals[row];
  return {.low = interval.low, .high = interval.high, .samples = interval.samples};
}

// Of several rows at one place the first counts, as it does for the public consumer.
void add_family(const GroupedRows& grouped,
                std::vector<std::uint32_t> rows,
                const RowOrder& comes_before,
                OwnedRows& owned) {
  std::stable_sort(rows.begin(), rows.end(), comes_before);
  const std::size_t count = grouped.sizes.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && !comes_before(rows[i - 1], rows[i])) continue;
    const auto first = grouped.size_values.begin() + static_cast<std::ptrdiff_t>(rows[i] * count);
    owned.values.insert(owned.values.end(), first, first + static_cast<std::ptrdiff_t>(count));
    owned.latencies.push_back(grouped.latencies[rows[i]]);
    if (!grouped.intervals.empty()) owned.intervals.push_back(interval_at(grouped, rows[i]));
    if (!grouped.watts.empty()) owned.watts.push_back(grouped.watts[rows[i]]);
    if (!grouped.throttled.empty()) owned.throttled.push_back(grouped.throttled[rows[i]]);
  }
  owned.begins.push_back(owned.latencies.size());
}

}  // namespace

std::vector<model::PerfField> WorkRows::exact_fields(std::size_t family) const {
  std::vector<model::PerfField> fields;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const std::string& text = exact[i].values[codes_of(family)[i]];
    fields.push_back({.column = exact[i].name, .value = value_of_text(text)});
  }
  return fields;
}

std::string WorkRows::family_name(std::size_t family) const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (exact[i].values.size() > 1)
      parts.push_back(exact[i].name + "=" + exact[i].values[codes_of(family)[i]]);
  }
  return core::join(parts, " ");
}

Work work_of_rows(const std::string& table,
                  const std::vector<std::string>& sizes,
                  std::span<const double> values) {
  const Work* known = find_work(table);
  if (known == nullptr) {
    std::vector<std::size_t> counts;
    for (std::size_t size = 0; size < sizes.size(); ++size) {
      std::set<double> distinct;
      for (std::size_t i = size; i < values.size(); i += sizes.size())
        distinct.insert(values[i]);
      counts.push_back(distinct.size());
    }
    return work_of_sizes(table, sizes, counts);
  }
  Work work = *known;
  // Tables of earlier times lack some columns; others have more.
  std::erase_if(work.axes, [&](const WorkAxis& axis) {
    const auto is_there = [&](const std::string& column) {
      return std::find(sizes.begin(), sizes.end(), column) != sizes.end();
    };
    return !std::all_of(axis.times.begin(), axis.times.end(), is_there) ||
           !std::all_of(axis.over.begin(), axis.over.end(), is_there);
  });
  for (const std::string& size : sizes) {
    if (!work.has(size)) work.axes.push_back({.times = {size}});
  }
  return work;
}

core::Result<WorkRows> make_work_rows(const std::string& table, const Frame& frame) {
  const Work* known = find_work(table);
  const Work undeclared;
  GroupedRows grouped = ASSAY_TRY(group_rows(table, frame, known != nullptr ? known : &undeclared));
  WorkRows rows;
  rows.table = table;
  rows.work = work_of_rows(table, grouped.sizes, grouped.size_values);
  auto owned = std::make_shared<OwnedRows>();
  const RowOrder comes_before(grouped, along_of(rows.work, grouped.sizes));
  std::vector<std::size_t> order(grouped.rows_of_group.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return grouped.exact_of_group[a] < grouped.exact_of_group[b];
  });
  for (const std::size_t group : order) {
    const auto& codes = grouped.exact_of_group[group];
    owned->codes.insert(owned->codes.end(), codes.begin(), codes.end());
    add_family(grouped, grouped.rows_of_group[group], comes_before, *owned);
  }
  rows.num_unusable = static_cast<std::size_t>(grouped.unused.count);
  rows.exact = std::move(grouped.exact);
  rows.sizes = std::move(grouped.sizes);
  point_into(rows, std::move(owned));
  return rows;
}

WorkRows kept_rows(const WorkRows& rows, const std::function<bool(std::size_t row)>& keep) {
  WorkRows kept = rows;
  kept.spreads = nullptr;
  auto owned = std::make_shared<OwnedRows>();
  owned->codes.assign(rows.codes.begin(), rows.codes.end());
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    for (std::size_t row = rows.begins[family]; row < rows.begins[family + 1]; ++row) {
      if (!keep(row)) continue;
      const auto sizes = rows.sizes_of(row);
      owned->values.insert(owned->values.end(), sizes.begin(), sizes.end());
      owned->latencies.push_back(rows.latencies[row]);
      if (!rows.intervals.empty()) owned->intervals.push_back(rows.intervals[row]);
      if (!rows.watts.empty()) owned->watts.push_back(rows.watts[row]);
      if (!rows.throttled.empty()) owned->throttled.push_back(rows.throttled[row]);
    }
    owned->begins.push_back(owned->latencies.size());
  }
  point_into(kept, std::move(owned));
  return kept;
}

TimedRows timed_rows(WorkRows rows) {
  const bool may_be_zero = holds_differences(rows.table);
  const auto is_time = [&](double ms) {
    return std::isfinite(ms) && (ms > 0 || (ms == 0 && may_be_zero));
  };
  const std::size_t unusable = rows.num_unusable;
  if (std::all_of(rows.latencies.begin(), rows.latencies.end(), is_time))
    return {.rows = std::move(rows), .left_out = unusable};
  const WorkRows kept =
      kept_rows(rows, [&](std::size_t row) { return is_time(rows.latencies[row]); });
  std::vector<std::size_t> empty;
  for (std::size_t family = 0; family < kept.num_families(); ++family) {
    if (kept.begins[family] == kept.begins[family + 1]) empty.push_back(family);
  }
  return {.rows = without_families(kept, empty),
          .left_out = unusable + rows.num_rows() - kept.num_rows()};
}

core::Result<WorkRows> with_times(WorkRows rows) {
  TimedRows timed = timed_rows(std::move(rows));
  if (timed.rows.num_rows() == 0 && timed.left_out > 0)
    return core::Error{timed.rows.table + ": no row has a usable time"};
  return std::move(timed.rows);
}

WorkRows without_families(const WorkRows& rows, std::span<const std::size_t> families) {
  struct Kept {
    OwnedRows rows;
    std::shared_ptr<const void> spreads;  // of the rows that these are part of
  };

  auto kept = std::make_shared<Kept>();
  kept->spreads = rows.data;
  OwnedRows& owned = kept->rows;
  const auto append = [](auto& all, auto part) { all.insert(all.end(), part.begin(), part.end()); };
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    if (std::find(families.begin(), families.end(), family) != families.end()) continue;
    const std::size_t begin = rows.begins[family];
    const std::size_t count = rows.begins[family + 1] - begin;
    append(owned.codes, rows.codes_of(family));
    append(owned.values, rows.values.subspan(begin * rows.sizes.size(), count * rows.sizes.size()));
    append(owned.latencies, rows.latencies.subspan(begin, count));
    if (!rows.intervals.empty()) append(owned.intervals, rows.intervals.subspan(begin, count));
    if (!rows.watts.empty()) append(owned.watts, rows.watts.subspan(begin, count));
    if (!rows.throttled.empty()) append(owned.throttled, rows.throttled.subspan(begin, count));
    owned.begins.push_back(owned.latencies.size());
  }
  WorkRows others = rows;
  point_into(others, {kept, &owned});
  return others;
}

}  // namespace assay::store
