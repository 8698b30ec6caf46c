// What a row of a performance table does in its time, as shares of the most that its device can do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/gpu_specs.h"
#include "store/database/power_model.h"
#include "store/files/frame.h"
#include "store/judging/roofline.h"

namespace assay::store {

// std::nullopt: the device's rate of these operations, or the time, is unknown.
std::optional<RowLoad> row_load(const RowCost& cost,
                                double milliseconds,
                                const model::GpuSpecs& device);

// Of the device in the rows' column "device"; unknown for devices and types without peaks.
// `operators` are those whose rows the table holds.
std::vector<std::optional<RowLoad>> row_loads(const std::vector<CostedOperator>& operators,
                                              const Frame& rows);

}  // namespace assay::store
