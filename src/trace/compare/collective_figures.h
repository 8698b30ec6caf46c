// Figures of a collective's instances, from the rows of a collective report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/table.h"
#include "trace/compare/repetitions.h"

namespace assay::trace {

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
