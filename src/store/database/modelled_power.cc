#include "store/database/modelled_power.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "store/database/power_between.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

// A model of so many rows knows as much as one of all; it is asked in proportion to their number.
constexpr std::size_t kMostPoweredRows = 1000;

FrameColumn* column_of(Frame& rows, std::string_view name) {
  const auto found = std::find_if(rows.columns.begin(), rows.columns.end(),
                                  [&](const FrameColumn& column) { return column.name == name; });
  return found == rows.columns.end() ? nullptr : &*found;
}

std::string text_at(const FrameColumn* column, std::size_t row) {
  return column == nullptr || column->is_missing(row) ? "" : value_text(column->value(row));
}

// 0 if it is unknown.
double limit_of_board(const Frame& rows) {
  double limit = 0;
  const FrameColumn* limits = rows.find("power_limit");
  for (std::size_t row = 0; limits != nullptr && row < rows.num_rows(); ++row)
    if (!limits->is_missing(row)) limit = std::max(limit, number_at(*limits, row));
  return limit;
}

std::map<std::string, std::vector<std::size_t>> rows_by_op_name(const Frame& rows) {
  std::map<std::string, std::vector<std::size_t>> rows_of;
  const FrameColumn* op_names = rows.find("op_name");
  for (std::size_t row = 0; row < rows.num_rows(); ++row)
    rows_of[text_at(op_names, row)].push_back(row);
  return rows_of;
}

// Keeps some, evenly, where there are more than a model needs.
void thin(std::vector<PoweredRow>& rows) {
  if (rows.size() <= kMostPoweredRows) return;
  std::vector<PoweredRow> kept;
  for (std::size_t i = 0; i < kMostPoweredRows; ++i)
    kept.push_back(rows[i * rows.size() / kMostPoweredRows]);
  rows = std::move(kept);
}

// Fills in the rows of a table.
class Modelling {
 public:
  Modelling(const std::string& table, const RowLoads& loads, const Frame& rows)
      : table_(table), rows_(rows), loads_(loads(table, rows)), errors_(rows.num_rows()) {
    power_ = rows.find(kPowerColumns.front());
    sources_ = rows.find(kPowerSourceColumn);
    watts_ = std::get<std::vector<double>>(power_->values);
    limit_ = limit_of_board(rows);
  }

  void run(std::vector<PowerFit>& fits) {
    for (const auto& [op_name, rows] : rows_by_op_name(rows_))
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
      if (loads_[row] && text_at(sources_, row) == kMeasuredPower)
        measured.push_back({.load = *loads_[row], .watts = watts_[row]});
    }
    return measured;
  }

  PowerFit fill(const std::string& op_name, const std::vector<std::size_t>& rows) {
    PowerSample sample{.op_name = op_name, .rows = measured(rows), .limit_watts = limit_};
    PowerFit fit{.table = table_, .op_name = op_name};
    fit.measured = static_cast<std::int64_t>(sample.rows.size());
    thin(sample.rows);
    fit.why_not = judge(sample);
    fit.errors = sample.errors;
    fit.errors_of_other_types = sample.errors_of_other_types;
    if (fit.why_not.empty()) fill_with(JudgedPower(sample), rows, fit);
    return fit;
  }

  void fill_with(const JudgedPower& model, const std::vector<std::size_t>& rows, PowerFit& fit) {
    for (const std::size_t row : rows) {
      if (!power_->is_missing(row) || !loads_[row]) continue;
      const std::optional<ModelledWatts> modelled = model.at(*loads_[row]);
      if (!modelled) continue;
      watts_[row] = modelled->watts;
      errors_[row] = modelled->error;
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

const PowerSample* TablePower::find(std::string_view op_name) const {
  const auto found = std::find_if(samples.begin(), samples.end(), [&](const PowerSample& sample) {
    return sample.op_name == op_name;
  });
  return found == samples.end() ? nullptr : &*found;
}

TablePower measured_power(const std::string& table, const RowLoads& loads, const Frame& rows) {
  TablePower made;
  const FrameColumn* power = rows.find(kPowerColumns.front());
  if (!loads || power == nullptr || rows.num_rows() == 0 ||
      !std::holds_alternative<std::vector<double>>(power->values))
    return made;
  // A table without a counter has zeros.
  const auto is_measured = [&](std::size_t row) {
    return !power->is_missing(row) && number_at(*power, row) > 0;
  };
  bool has_some = false;
  for (std::size_t row = 0; row < rows.num_rows() && !has_some; ++row)
    has_some = is_measured(row);
  if (!has_some) return made;
  made.device = text_at(rows.find("device"), 0);
  const std::vector<std::optional<RowLoad>> all = loads(table, rows);
  for (const auto& [op_name, of_name] : rows_by_op_name(rows)) {
    PowerSample sample{.op_name = op_name, .rows = {}, .limit_watts = limit_of_board(rows)};
    for (const std::size_t row : of_name) {
      if (all[row] && is_measured(row))
        sample.rows.push_back({.load = *all[row], .watts = number_at(*power, row)});
    }
    thin(sample.rows);
    if (judge(sample).empty()) made.samples.push_back(std::move(sample));
  }
  return made;
}

}  // namespace assay::store
