// Tables of what can be priced.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/table.h"
#include "plan/support/support.h"

namespace assay::plan {

// A row for each model and engine: how many workers, and how many operators, can be priced and by
// what; the operators where there is one model; what is missing; and the command for each model
// that measures it. `configs`: what --model names each model by.
model::Book support_book(const std::string& title,
                         const std::vector<ModelSupport>& all,
                         const std::map<std::string, std::string>& configs);

}  // namespace assay::plan
