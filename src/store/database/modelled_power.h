// The power of rows without a measured one: by a model of the rows that have one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/database/judged_power.h"
#include "store/database/power_model.h"
#include "store/files/frame.h"

namespace assay::store {

// What each row of a table does in its time; std::nullopt where that is unknown. Callers know
// operators and devices, this layer does not.
using RowLoads =
    std::function<std::vector<std::optional<RowLoad>>(const std::string& table, const Frame& rows)>;

// The model of the rows with one op_name.
struct PowerFit {
  std::string table;
  std::string op_name;
  std::int64_t measured = 0;
  std::int64_t modelled = 0;
  PowerErrors errors = {};
  std::optional<PowerErrors> errors_of_other_types = {};
  std::string why_not = {};  // empty if it fills rows in
};

// Gives the rows without power that of a model, one for each op_name, never above the limit of the
// board, and marks them "modelled" in kPowerSourceColumn, which with_power_sources() has made, with
// the error of the model in kPowerErrorColumn. A model of few rows, or one that is too far off for
// rows of the types of its operands, fills in nothing. The frame stays as it is where no row lacks
// power.
Frame with_modelled_power(const std::string& table,
                          const RowLoads& loads,
                          Frame rows,
                          std::vector<PowerFit>& fits);

// The measured power of a table, of which models can be made for rows that have none.
struct TablePower {
  std::string device;                     // that measured it
  std::vector<PowerSample> samples = {};  // judged, and only those that a model can be made of

  // Null if there is none.
  [[nodiscard]] const PowerSample* find(std::string_view op_name) const;
};

// Precondition: every power in the frame was measured, as in a store's, and in a file's, whose
// reader drops what a placed table has from elsewhere. Of many rows some are taken, evenly.
TablePower measured_power(const std::string& table, const RowLoads& loads, const Frame& rows);

}  // namespace assay::store
