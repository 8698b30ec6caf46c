#pragma once

#include <string>
#include <utility>
#include <vector>

namespace assay::sweep {

// Environment variables; an empty value means that the variable is not set.
using Variables = std::vector<std::pair<std::string, std::string>>;

}  // namespace assay::sweep
