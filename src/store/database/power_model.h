// The power of a kernel, by the rates that it reaches: for rows that no measured power is near to.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace assay::store {

// What a row does in its time, as shares of the most that its device can do.
struct RowLoad {
  double memory = 0;   // of the bytes a second
  double compute = 0;  // of the operations a second of the type
  double milliseconds = 0;
  std::string type;  // of the operands: "fp8"
};

struct PoweredRow {
  RowLoad load;
  double watts = 0;
};

// Errors are parts of the measured power, of rows that were left out.
struct PowerErrors {
  double median = 0;
  double p90 = 0;
};

// A quadratic in the two rates and the logarithm of the time, fitted by least squares, to which the
// errors at measured rows near by are added, by their distance.
class PowerModel {
 public:
  // Precondition: there are rows.
  explicit PowerModel(std::vector<PoweredRow> rows);

  [[nodiscard]] double watts(const RowLoad& load) const;

 private:
  static constexpr std::size_t kTerms = 9;
  using Terms = std::array<double, kTerms>;

  // By the logarithms of a load, where it lies among others.
  struct Place {
    double memory = 0;
    double compute = 0;
    double time = 0;
  };

  static Place place_of(const RowLoad& load);
  static Terms terms_of(const RowLoad& load);
  void fit();
  [[nodiscard]] double smooth(const RowLoad& load) const;

  std::vector<PoweredRow> rows_;
  std::vector<Place> places_;  // by row
  double least_watts_ = 0;
  Terms weights_{};
  std::vector<double> rest_;  // by row: what the quadratic lacks
};

// Leaves out a tenth of the rows at a time. No model gives more than `limit` watts; 0: no limit.
PowerErrors power_errors(const std::vector<PoweredRow>& rows, double limit);

// Leaves out all rows of a type at a time, and tells the largest errors of a type: how far off the
// model is for types that were not measured. std::nullopt if all rows are of one type.
std::optional<PowerErrors> power_errors_of_other_types(const std::vector<PoweredRow>& rows,
                                                       double limit);

}  // namespace assay::store
