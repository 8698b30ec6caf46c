// Values of a system that somebody else tells: a file of the shape of systems/NAME.yaml, whole or
// in part.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/result.h"

namespace assay::store {

// By section and name: "gpu.mem_bw", "misc.nccl_mem.2"; the values as they are written.
using CitedValues = std::map<std::string, std::string>;

// 'data_dir' and 'measured' are passed over. Errors name file, line and field: no YAML, a field
// that no system has, a value that is no number of at least 0.
core::Result<CitedValues> read_cited_values(const std::filesystem::path& yaml);

}  // namespace assay::store
