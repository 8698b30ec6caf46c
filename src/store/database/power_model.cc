#include "store/database/power_model.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace assay::store {
namespace {

constexpr std::size_t kParts = 10;
constexpr double kLeastShare = 1e-6;  // of a rate, so that its logarithm is finite
// So small that it changes no fit, and large enough that equal rows have one.
constexpr double kRidge = 1e-3;
// Rows whose rates differ by a factor of exp(0.5) tell of each other still; times differ four times
// as far before they matter. Chosen on the rows of an H200, like the terms of the quadratic.
constexpr double kReach = 0.5;
constexpr double kShareOfTime = 0.25;
// Counts as a row without an error, so that far from all rows the quadratic stands alone.
constexpr double kNoError = 0.3;

double log_share(double share) {
  return std::log(std::max(share, kLeastShare));
}

double square(double x) {
  return x * x;
}

double below(double limit, double watts) {
  return limit > 0 ? std::min(limit, watts) : watts;
}

PowerErrors errors_of(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  return {.median = errors[errors.size() / 2], .p90 = errors[errors.size() * 9 / 10]};
}

void add_errors(const std::vector<PoweredRow>& known,
                const std::vector<PoweredRow>& asked,
                double limit,
                std::vector<double>& errors) {
  if (known.empty()) return;
  const PowerModel model(known);
  for (const PoweredRow& row : asked)
    errors.push_back(std::abs(below(limit, model.watts(row.load)) / row.watts - 1));
}

}  // namespace

PowerModel::PowerModel(std::vector<PoweredRow> rows)
    : rows_(std::move(rows)), least_watts_(rows_.front().watts) {
  fit();
  for (const PoweredRow& row : rows_) {
    places_.push_back(place_of(row.load));
    rest_.push_back(row.watts - smooth(row.load));
    least_watts_ = std::min(least_watts_, row.watts);
  }
}

PowerModel::Place PowerModel::place_of(const RowLoad& load) {
  return {.memory = log_share(load.memory),
          .compute = log_share(load.compute),
          .time = kShareOfTime * std::log(load.milliseconds)};
}

PowerModel::Terms PowerModel::terms_of(const RowLoad& load) {
  const double memory = load.memory;
  const double compute = load.compute;
  return {1,
          memory,
          compute,
          std::sqrt(memory),
          std::sqrt(compute),
          memory * memory,
          compute * compute,
          memory * compute,
          std::log(load.milliseconds)};
}

// Solves the normal equations by elimination.
void PowerModel::fit() {
  std::array<std::array<double, kTerms + 1>, kTerms> equations{};
  for (const PoweredRow& row : rows_) {
    const Terms terms = terms_of(row.load);
    for (std::size_t i = 0; i < kTerms; ++i) {
      for (std::size_t j = 0; j < kTerms; ++j)
        equations[i][j] += terms[i] * terms[j];
      equations[i][kTerms] += terms[i] * row.watts;
    }
  }
  for (std::size_t i = 0; i < kTerms; ++i)
    equations[i][i] += kRidge;
  // The matrix is positive definite, so that no row has to be exchanged.
  for (std::size_t i = 0; i < kTerms; ++i) {
    for (std::size_t other = 0; other < kTerms; ++other) {
      if (other == i) continue;
      const double factor = equations[other][i] / equations[i][i];
      for (std::size_t j = i; j <= kTerms; ++j)
        equations[other][j] -= factor * equations[i][j];
    }
  }
  for (std::size_t i = 0; i < kTerms; ++i)
    weights_[i] = equations[i][kTerms] / equations[i][i];
}

double PowerModel::smooth(const RowLoad& load) const {
  const Terms terms = terms_of(load);
  double watts = 0;
  for (std::size_t i = 0; i < kTerms; ++i)
    watts += weights_[i] * terms[i];
  return watts;
}

double PowerModel::watts(const RowLoad& load) const {
  const Place asked = place_of(load);
  double sum = kNoError;
  double rest = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Place& place = places_[i];
    const double distance =
        square(asked.memory - place.memory) + square(asked.compute - place.compute) +
        square(asked.time - place.time) + (load.type == rows_[i].load.type ? 0 : 1);
    const double weight = std::exp(-distance / (2 * square(kReach)));
    sum += weight;
    rest += weight * rest_[i];
  }
  return std::max(least_watts_, smooth(load) + rest / sum);
}

PowerErrors power_errors(const std::vector<PoweredRow>& rows, double limit) {
  std::vector<double> errors;
  for (std::size_t part = 0; part < kParts; ++part) {
    std::vector<PoweredRow> known;
    std::vector<PoweredRow> asked;
    for (std::size_t i = 0; i < rows.size(); ++i)
      (i % kParts == part ? asked : known).push_back(rows[i]);
    add_errors(known, asked, limit, errors);
  }
  return errors_of(std::move(errors));
}

std::optional<PowerErrors> power_errors_of_other_types(const std::vector<PoweredRow>& rows,
                                                       double limit) {
  std::set<std::string> types;
  for (const PoweredRow& row : rows)
    types.insert(row.load.type);
  if (types.size() < 2) return std::nullopt;
  PowerErrors worst;
  for (const std::string& type : types) {
    std::vector<PoweredRow> known;
    std::vector<PoweredRow> asked;
    for (const PoweredRow& row : rows)
      (row.load.type == type ? asked : known).push_back(row);
    std::vector<double> errors;
    add_errors(known, asked, limit, errors);
    const PowerErrors of_type = errors_of(std::move(errors));
    if (of_type.median > worst.median) worst = of_type;
  }
  return worst;
}

}  // namespace assay::store
