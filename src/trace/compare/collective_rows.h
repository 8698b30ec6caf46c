// The rows of two collective reports: which of them are the same collective, and the figures of its
// instances.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/table.h"
#include "trace/compare/configuration.h"
#include "trace/compare/repetitions.h"
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

using RowNumbers = std::vector<std::size_t>;

// "algo bw", "bus bw" or "throughput" in 1e9 bytes a second. A report of kTraceLens writes
// multiples of 1024^3 under the heading (GB/s) and has no (GiB/s); those are converted.
std::vector<RunValue> bandwidths_gbps(const model::Table* table,
                                      const RowNumbers& rows,
                                      std::string_view quantity);

// Numbers of a column, each with its row's run; none for a null table.
std::vector<RunValue> instance_values(const model::Table* table,
                                      const RowNumbers& rows,
                                      std::string_view column);

// The same without their runs.
std::vector<double> plain_values(const model::Table* table,
                                 const RowNumbers& rows,
                                 std::string_view column);

// The one value of a column, all different ones as text ("16, 24"), or empty.
model::Cell distinct_values(const model::Table* table,
                            const RowNumbers& rows,
                            std::string_view column);

}  // namespace assay::trace
