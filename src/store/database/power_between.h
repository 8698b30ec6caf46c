// The power of rows that lie between rows whose energy was measured.
#pragma once

#include <string_view>
#include <vector>

#include "store/files/frame.h"

namespace assay::store {

// `collect --power-every` measures the energy of every Nth size of a key and of the largest. Gives
// the other rows the power (watts) between those of their two neighbours along one of the whole
// numbers of the key, in proportion to the logarithm of the size, and marks all rows in
// kPowerSourceColumn. A row without a neighbour on each side keeps no power. Without rows that lack
// power, or without rows that have it, the frame stays as it is.
Frame with_power_between(const std::vector<std::string_view>& key, Frame rows);

}  // namespace assay::store
