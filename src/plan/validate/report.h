// Tables of predictions beside measured deployments.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/table.h"
#include "plan/validate/validate.h"

namespace assay::plan {

// Errors of slices (engine, version, model, system), and why rows have no prediction.
model::Book slices_book(const std::vector<Prediction>& predictions);

// Every row.
model::Book rows_book(const std::vector<Prediction>& predictions);

// Rows by the reason why they have no prediction.
model::Table refused_rows_table(const std::map<std::string, std::int64_t>& refusals);

}  // namespace assay::plan
