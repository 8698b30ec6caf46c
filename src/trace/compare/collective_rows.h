// Matches the rows of two collective reports that belong to the same collective, and reads the
// figures of its instances.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/table.h"
#include "trace/compare/configuration.h"
#include "trace/compare/repetitions.h"
#include "trace/compare/rows.h"

namespace assay::trace {

inline constexpr const char* kGroupRanksColumn = "Process Group Ranks";

// The rows of one key on both sides; a list is empty where that side has none.
struct JoinedRows {
  RowKey key;
  std::vector<std::size_t> baseline;
  std::vector<std::size_t> test;
};

// One sheet of both collective reports; null on a side that lacks it.
struct SheetPair {
  const model::Table* baseline = nullptr;
  const model::Table* test = nullptr;
};

SheetPair sheet_pair(const Sides& sides, const std::string& name);

// Returns every key of either side, in key order. A row without a value in a key column has a key
// of its own, with an empty cell there.
std::vector<JoinedRows> outer_join(const SheetPair& sheets, const std::vector<std::string>& keys);

// Puts "Process Group Name" in front of `keys` when both sides have the same groups (names and
// ranks). PyTorch numbers groups in order of creation, so when the groups differ, the same name
// need not mean the same group.
std::vector<std::string> with_process_group(const SheetPair& sheets, std::vector<std::string> keys);

using RowNumbers = std::vector<std::size_t>;

// Returns "algo bw", "bus bw" or "throughput" in 1e9 bytes per second. A kTraceLens report has
// multiples of 1024^3 under the heading (GB/s) and no column (GiB/s); those are converted.
std::vector<RunValue> bandwidths_gbps(const model::Table* table,
                                      const RowNumbers& rows,
                                      std::string_view quantity);

// Returns the numbers of a column, each with the run of its row; none for a null table.
std::vector<RunValue> instance_values(const model::Table* table,
                                      const RowNumbers& rows,
                                      std::string_view column);

// Returns the same numbers without their runs.
std::vector<double> plain_values(const model::Table* table,
                                 const RowNumbers& rows,
                                 std::string_view column);

// Returns the only value of a column, all distinct ones as text ("16, 24"), or an empty cell.
model::Cell distinct_values(const model::Table* table,
                            const RowNumbers& rows,
                            std::string_view column);

}  // namespace assay::trace
