// The sheets of `assay trace path`.
#pragma once

#include "model/table.h"
#include "trace/path/critical_path.h"
#include "trace/path/execution.h"

namespace assay::trace::path {

// critical_path_steps     what each step is made of, and the mean of all
// critical_path_kernels   what runs on the path, longest first
// critical_path_segments  the path itself
// clock_alignment         how far the ranks' clocks are apart, and what of that was removed
model::Book path_report(const Execution& execution, const std::vector<Segment>& path);

}  // namespace assay::trace::path
