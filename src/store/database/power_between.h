// Which rows have a measured power, and the power of rows between them.
#pragma once

#include <string_view>
#include <vector>

#include "store/files/frame.h"

namespace assay::store {

// This word stands in kPowerSourceColumn.
inline constexpr std::string_view kMeasuredPower = "measured";

// `collect --power-every` measures the energy of every Nth size of a key and of the largest. Marks
// those rows as "measured" in kPowerSourceColumn, which it adds. Without rows that lack power, or
// without rows that have it, the frame stays as it is.
Frame with_power_sources(Frame rows);

// Gives the rows that still have no power (watts) that between their two measured neighbours along
// one of the whole numbers of the key, in proportion to the logarithm of the size, and marks them
// as "interpolated". A row without a measured neighbour on each side keeps no power. A frame
// without kPowerSourceColumn stays as it is.
Frame with_power_between(const std::vector<std::string_view>& key, Frame rows);

}  // namespace assay::store
