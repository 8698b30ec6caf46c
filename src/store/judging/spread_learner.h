// What a table's rows tell of the errors of its answers, with the rooflines of its device, and of
// the power of other rows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "store/answers/table_cache.h"
#include "store/judging/roofline.h"

namespace assay::store {

// The operators whose rows a table holds; several threads may call it.
using OperatorCosts = std::function<std::vector<CostedOperator>(const std::string& table)>;

// The key names the peaks. `costs` is part of the program, which entries of the cache name.
SpreadLearner learner_with_rooflines(const Peaks& peaks, OperatorCosts costs);

}  // namespace assay::store
