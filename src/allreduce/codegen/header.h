// A strategy table as a C++17 header that needs nothing else: flat constexpr arrays and a lookup
// that gives StrategyTable::lookup's answer for any input, on the host and in CUDA kernels.
#pragma once

#include <string>

#include "allreduce/strategy_table.h"
#include "core/result.h"

namespace assay::allreduce {

struct HeaderOptions {
  std::string name_space = "allreduce_table";  // may be nested: "my::table"
};

// The text of the header. Error: the name of the namespace is none, or the table has no slice.
core::Result<std::string> strategy_header(const StrategyTable& table,
                                          const HeaderOptions& options = {});

}  // namespace assay::allreduce
