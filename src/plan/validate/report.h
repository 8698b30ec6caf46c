// Tables of predictions beside measured deployments.
#pragma once

#include <vector>

#include "model/table.h"
#include "plan/validate/validate.h"

namespace assay::plan {

// Errors of slices (engine, version, model, system), and why rows have no prediction.
model::Book slices_book(const std::vector<Prediction>& predictions);

// Every row.
model::Book rows_book(const std::vector<Prediction>& predictions);

}  // namespace assay::plan
