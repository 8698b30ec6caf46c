// The SM90 lookup tables that TensorRT-LLM ships, for comparison with ours.
#pragma once

#include <array>
#include <string_view>

#include "allreduce/codegen/lookup_table.h"

namespace assay::allreduce {

struct ShippedTable {
  std::string_view name;    // "shipped 1.2"
  std::string_view source;  // one line
  LookupTable table;
};

// Returns the tables of the 1.2 and 1.3 releases. Every cell counts as measured except those of
// NVFP4, which SM90 does not have and both tables fill with NCCL.
std::array<ShippedTable, 2> shipped_tables();

}  // namespace assay::allreduce
