// Which collectives of two configurations are the same.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/configuration.h"
#include "trace/compare/rows.h"

namespace assay::trace {

// Rows of one key on both sides; empty lists where a side has none.
struct JoinedRows {
  RowKey key;
  std::vector<std::size_t> baseline;
  std::vector<std::size_t> test;
};

// A sheet of both collective reports; a side without it is null.
struct SheetPair {
  const model::Table* baseline = nullptr;
  const model::Table* test = nullptr;
};

SheetPair sheet_pair(const Sides& sides, const std::string& name);

// Every key of either side, in key order. Rows without a value in a key column keep their own.
std::vector<JoinedRows> outer_join(const SheetPair& sheets, const std::vector<std::string>& keys);

// "Process Group Name" in front of `keys` when both sides have the same groups (names and
// ranks). Names are counters that PyTorch gives in order of creation: with other groups on one
// side the same name need not be the same group.
std::vector<std::string> with_process_group(const SheetPair& sheets, std::vector<std::string> keys);

}  // namespace assay::trace
