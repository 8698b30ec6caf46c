// A model of power with how far off it is: what rows without a measured power may be told by.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/database/power_model.h"

namespace assay::store {

// The rows with one op_name whose power was measured.
struct PowerSample {
  std::string op_name;
  std::vector<PoweredRow> rows;
  double limit_watts = 0;  // of the board; 0: unknown
  // As judge() finds them.
  PowerErrors errors = {};
  std::optional<PowerErrors> errors_of_other_types = std::nullopt;
};

// Finds the errors of a model of these rows. Returns why there is none: its rows are too few, or it
// is too far off; "" where there is one.
std::string judge(PowerSample& sample);

struct ModelledWatts {
  double watts = 0;
  double error = 0;  // the median, a part of the power, of rows that were left out
};

class JudgedPower {
 public:
  // Precondition: judge() has nothing against a model of the sample.
  explicit JudgedPower(const PowerSample& sample);

  // Never above the limit of the board. std::nullopt: the load's type was not measured, and the
  // model is too far off for types that were left out.
  [[nodiscard]] std::optional<ModelledWatts> at(const RowLoad& load) const;

 private:
  PowerModel model_;
  std::set<std::string> types_;
  double limit_watts_;
  double error_;
  double error_of_other_types_;
};

}  // namespace assay::store
