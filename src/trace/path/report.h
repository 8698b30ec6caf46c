// The sheets of `assay trace path`.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "model/table.h"
#include "trace/path/critical_path.h"
#include "trace/path/execution.h"

namespace assay::trace::path {

// critical_path_steps     what each step is made of, and the mean of the steady ones
// critical_path_kernels   what runs on the path, longest first
// critical_path_segments  the path itself
// clock_alignment         how far the ranks' clocks are apart, and what of that was removed
// The means are those of the steps whose numbers are in `steady`, as far as they are whole; of all
// steps where the ranks have none of these in common.
model::Book path_report(const Execution& execution,
                        const std::vector<Segment>& path,
                        const std::set<std::int64_t>& steady);

}  // namespace assay::trace::path
