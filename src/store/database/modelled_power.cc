#include "store/database/modelled_power.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "store/files/table_spec.h"

namespace assay::store {
namespace {

constexpr std::int64_t kFewestRows = 50;
constexpr double kLargestError = 0.15;  // in the median

FrameColumn* column_of(Frame& rows, std::string_view name) {
  const auto found = std::find_if(rows.columns.begin(), rows.columns.end(),
                                  [&](const FrameColumn& column) { return column.name == name; });
  return found == rows.columns.end() ? nullptr : &*found;
}

std::string text_at(const FrameColumn* column, std::size_t row) {
  return column == nullptr || column->is_missing(row) ? "" : value_text(column->value(row));
}

// Fills in the rows of a table.
class Modelling {
 public:
  Modelling(const std::string& table, const RowLoads& loads, const Frame& rows)
      : table_(table), rows_(rows), loads_(loads(table, rows)), errors_(rows.num_rows()) {
    power_ = rows.find(kPowerColumns.front());
    sources_ = rows.find(kPowerSourceColumn);
    watts_ = std::get<std::vector<double>>(power_->values);
    const FrameColumn* limits = rows.find("power_limit");
    for (std::size_t row = 0; limits != nullptr && row < rows.num_rows(); ++row)
      if (!limits->is_missing(row)) limit_ = std::max(limit_, number_at(*limits, row));
  }

  void run(std::vector<PowerFit>& fits) {
    std::map<std::string, std::vector<std::size_t>> rows_of;
    const FrameColumn* op_names = rows_.find("op_name");
    for (std::size_t row = 0; row < rows_.num_rows(); ++row)
      rows_of[text_at(op_names, row)].push_back(row);
    for (const auto& [op_name, rows] : rows_of)
      fits.push_back(fill(op_name, rows));
  }

  // Of the board; 0 if it is unknown.
  [[nodiscard]] double limit() const { return limit_; }

  [[nodiscard]] bool is_filled(std::size_t row) const { return errors_[row] > 0; }

  [[nodiscard]] double watts(std::size_t row) const { return watts_[row]; }

  [[nodiscard]] double error(std::size_t row) const { return errors_[row]; }

 private:
  [[nodiscard]] std::vector<PoweredRow> measured(const std::vector<std::size_t>& rows) const {
    std::vector<PoweredRow> measured;
    for (const std::size_t row : rows) {
      if (loads_[row] && text_at(sources_, row) == "measured")
        measured.push_back({.load = *loads_[row], .watts = watts_[row]});
    }
    return measured;
  }

  PowerFit fill(const std::string& op_name, const std::vector<std::size_t>& rows) {
    const std::vector<PoweredRow> known = measured(rows);
    PowerFit fit{.table = table_, .op_name = op_name};
    fit.measured = static_cast<std::int64_t>(known.size());
    if (fit.measured < kFewestRows) {
      fit.why_not =
          fmt::format("{} rows have their power, and a model takes {}", fit.measured, kFewestRows);
      return fit;
    }
    fit.errors = power_errors(known, limit_);
    fit.errors_of_other_types = power_errors_of_other_types(known, limit_);
    if (fit.errors.median > kLargestError) {
      fit.why_not = fmt::format("a model is {:.0f} % off", fit.errors.median * 100);
      return fit;
    }
    fill_with(PowerModel(known), types_of(known), rows, fit);
    return fit;
  }

  static std::set<std::string> types_of(const std::vector<PoweredRow>& known) {
    std::set<std::string> types;
    for (const PoweredRow& row : known)
      types.insert(row.load.type);
    return types;
  }

  void fill_with(const PowerModel& model,
                 const std::set<std::string>& types,
                 const std::vector<std::size_t>& rows,
                 PowerFit& fit) {
    for (const std::size_t row : rows) {
      if (!power_->is_missing(row) || !loads_[row]) continue;
      const bool is_other = !types.contains(loads_[row]->type);
      const PowerErrors errors =
          is_other ? fit.errors_of_other_types.value_or(PowerErrors{.median = 1}) : fit.errors;
      if (errors.median > kLargestError) continue;
      const double watts = model.watts(*loads_[row]);
      watts_[row] = limit_ > 0 ? std::min(limit_, watts) : watts;
      errors_[row] = errors.median;
      ++fit.modelled;
    }
  }

  const std::string& table_;
  const Frame& rows_;
  std::vector<std::optional<RowLoad>> loads_;
  const FrameColumn* power_ = nullptr;
  const FrameColumn* sources_ = nullptr;
  double limit_ = 0;
  std::vector<double> watts_;
  std::vector<double> errors_;  // by row; 0 if it was not filled in
};

void set_watts(Frame& rows, std::string_view name, std::size_t row, double watts) {
  FrameColumn* column = column_of(rows, name);
  auto* values = column == nullptr ? nullptr : std::get_if<std::vector<double>>(&column->values);
  if (values == nullptr || !column->is_missing(row)) return;
  (*values)[row] = watts;
  column->missing[row] = false;
}

Frame filled(const Modelling& modelling, Frame rows) {
  ColumnBuilder sources{std::string(kPowerSourceColumn)};
  ColumnBuilder errors{std::string(kPowerErrorColumn)};
  const double limit = modelling.limit();
  FrameColumn* old_sources = column_of(rows, kPowerSourceColumn);
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    if (modelling.is_filled(row)) {
      set_watts(rows, kPowerColumns.front(), row, modelling.watts(row));
      set_watts(rows, "power_limit", row, limit);
      sources.add(std::string_view("modelled"));
      errors.add(modelling.error(row) * 100);
      continue;
    }
    errors.add_missing();
    const std::string source = text_at(old_sources, row);
    if (source.empty()) {
      sources.add_missing();
    } else {
      sources.add(std::string_view(source));
    }
  }
  *old_sources = std::move(sources).finish();
  rows.columns.push_back(std::move(errors).finish());
  return rows;
}

}  // namespace

Frame with_modelled_power(const std::string& table,
                          const RowLoads& loads,
                          Frame rows,
                          std::vector<PowerFit>& fits) {
  const FrameColumn* power = rows.find(kPowerColumns.front());
  const bool lacks =
      power != nullptr && rows.find(kPowerSourceColumn) != nullptr &&
      std::holds_alternative<std::vector<double>>(power->values) &&
      std::find(power->missing.begin(), power->missing.end(), true) != power->missing.end();
  if (!loads || !lacks) return rows;
  Modelling modelling(table, loads, rows);
  const std::size_t before = fits.size();
  modelling.run(fits);
  const bool fills = std::any_of(fits.begin() + static_cast<std::ptrdiff_t>(before), fits.end(),
                                 [](const PowerFit& fit) { return fit.modelled > 0; });
  return fills ? filled(modelling, std::move(rows)) : std::move(rows);
}

}  // namespace assay::store
