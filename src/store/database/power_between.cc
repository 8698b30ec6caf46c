#include "store/database/power_between.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "store/files/table_spec.h"

namespace assay::store {
namespace {

using SizeValues = std::vector<std::int64_t>;
using RowNumbers = std::vector<std::size_t>;

FrameColumn* find_column(Frame& rows, std::string_view name) {
  const auto found = std::find_if(rows.columns.begin(), rows.columns.end(),
                                  [&](const FrameColumn& column) { return column.name == name; });
  return found == rows.columns.end() ? nullptr : &*found;
}

// The rows that differ in this size alone, by the values of the others.
std::map<std::string, RowNumbers> lines_along(const std::vector<std::string_view>& key,
                                              std::string_view size,
                                              const Frame& rows) {
  std::vector<const FrameColumn*> others;
  for (const std::string_view name : key) {
    const FrameColumn* column = rows.find(name);
    if (name != size && column != nullptr) others.push_back(column);
  }
  std::map<std::string, RowNumbers> lines;
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    std::string line;
    for (const FrameColumn* column : others) {
      if (!column->is_missing(row)) line += value_text(column->value(row));
      line += '\n';
    }
    lines[line].push_back(row);
  }
  return lines;
}

// How far between two sizes another lies, on a logarithmic scale. Files repeat sizes.
double share_between(std::int64_t low, std::int64_t size, std::int64_t high) {
  if (low == high) return 0;
  const auto logarithm = [](std::int64_t n) { return std::log(static_cast<double>(n) + 1); };
  return (logarithm(size) - logarithm(low)) / (logarithm(high) - logarithm(low));
}

// A column of watts, in which rows are filled in.
class Watts {
 public:
  explicit Watts(FrameColumn& column)
      : values_(std::get<std::vector<double>>(column.values)), missing_(column.missing) {}

  void fill(std::size_t row, std::size_t low, std::size_t high, double share) {
    values_[row] = values_[low] + share * (values_[high] - values_[low]);
    missing_[row] = false;
  }

 private:
  std::vector<double>& values_;
  std::vector<bool>& missing_;
};

std::vector<bool> measured_rows(const FrameColumn& sources) {
  std::vector<bool> measured;
  for (std::size_t row = 0; row < sources.size(); ++row)
    measured.push_back(!sources.is_missing(row) &&
                       value_text(sources.value(row)) == kMeasuredPower);
  return measured;
}

// The rows whose power was measured, and what is filled in between them.
class Filling {
 public:
  Filling(Frame& rows, const FrameColumn& power, const FrameColumn& sources)
      : lacks_(power.missing), measured_(measured_rows(sources)), filled_(lacks_.size()) {
    for (const std::string_view name : kPowerColumns) {
      FrameColumn* column = find_column(rows, name);
      const bool is_real =
          column != nullptr && std::holds_alternative<std::vector<double>>(column->values);
      if (is_real && column->missing == lacks_) watts_.emplace_back(*column);
    }
  }

  // `line` is in the order of its sizes.
  void fill_line(const RowNumbers& line, const SizeValues& sizes) {
    std::optional<std::size_t> low;
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (!measured_[line[at]]) continue;
      if (low) fill_between(line, *low, at, sizes);
      low = at;
    }
  }

  [[nodiscard]] bool is_filled(std::size_t row) const { return filled_[row]; }

  [[nodiscard]] bool is_whole() const { return filled_ == lacks_; }

 private:
  void fill_between(const RowNumbers& line,
                    std::size_t low,
                    std::size_t high,
                    const SizeValues& sizes) {
    for (std::size_t at = low + 1; at < high; ++at) {
      const std::size_t row = line[at];
      if (!lacks_[row] || filled_[row]) continue;
      const double share = share_between(sizes[line[low]], sizes[row], sizes[line[high]]);
      for (Watts& watts : watts_)
        watts.fill(row, line[low], line[high], share);
      filled_[row] = true;
    }
  }

  std::vector<bool> lacks_;  // before anything is filled in
  std::vector<bool> measured_;
  std::vector<bool> filled_;
  std::vector<Watts> watts_;
};

FrameColumn with_filled_rows(const Filling& filling, const FrameColumn& sources) {
  ColumnBuilder builder{std::string(kPowerSourceColumn)};
  for (std::size_t row = 0; row < sources.size(); ++row) {
    if (filling.is_filled(row)) {
      builder.add(std::string_view("interpolated"));
    } else if (sources.is_missing(row)) {
      builder.add_missing();
    } else {
      builder.add(std::string_view(value_text(sources.value(row))));
    }
  }
  return std::move(builder).finish();
}

bool has_some(const FrameColumn* power) {
  if (power == nullptr || !std::holds_alternative<std::vector<double>>(power->values)) return false;
  const auto& missing = power->missing;
  return std::find(missing.begin(), missing.end(), true) != missing.end() &&
         std::find(missing.begin(), missing.end(), false) != missing.end();
}

}  // namespace

Frame with_power_sources(Frame rows) {
  const FrameColumn* power = rows.find(kPowerColumns.front());
  if (!has_some(power)) return rows;
  ColumnBuilder sources{std::string(kPowerSourceColumn)};
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    if (power->is_missing(row)) {
      sources.add_missing();
    } else {
      sources.add(kMeasuredPower);
    }
  }
  rows.columns.push_back(std::move(sources).finish());
  return rows;
}

Frame with_power_between(const std::vector<std::string_view>& key, Frame rows) {
  const FrameColumn* power = rows.find(kPowerColumns.front());
  FrameColumn* sources = find_column(rows, kPowerSourceColumn);
  if (sources == nullptr || !has_some(power)) return rows;
  Filling filling(rows, *power, *sources);
  for (const std::string_view name : key) {
    const FrameColumn* column = rows.find(name);
    const auto* sizes = column == nullptr ? nullptr : std::get_if<SizeValues>(&column->values);
    if (sizes == nullptr || filling.is_whole()) continue;
    for (auto& [text, line] : lines_along(key, name, rows)) {
      std::sort(line.begin(), line.end(),
                [&](std::size_t a, std::size_t b) { return (*sizes)[a] < (*sizes)[b]; });
      filling.fill_line(line, *sizes);
    }
  }
  *sources = with_filled_rows(filling, *sources);
  return rows;
}

}  // namespace assay::store
