// What clients measured of a deployment whose files `plan files` wrote.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/warnings.h"
#include "plan/validate/measured.h"

namespace assay::plan {

// The deployment that a deployment.json tells, without what was measured. Error: a field is missing
// or is not what it must be.
core::Result<MeasuredDeployment> parse_deployed(std::string_view json, const std::string& name);

// A row for each run in a result of a client (bench_run.h has the formats): `deployed` with the
// run's concurrency, the means of its lengths and its mean latencies. One JSON object for each run,
// on a line of its own where there are several. `warnings` counts runs that are left out, because
// they kept no number of requests in flight or none ended, and runs of which some requests failed.
// Error: no such result.
core::Result<std::vector<MeasuredDeployment>> parse_bench_result(std::string_view text,
                                                                 const std::string& name,
                                                                 const MeasuredDeployment& deployed,
                                                                 model::Warnings& warnings);

// All runs in and below folder/results, of the deployment in folder/deployment.json, by
// concurrency. Error: as above, or there is no result.
core::Result<std::vector<MeasuredDeployment>> read_bench_folder(const std::filesystem::path& folder,
                                                                model::Warnings& warnings);

}  // namespace assay::plan
