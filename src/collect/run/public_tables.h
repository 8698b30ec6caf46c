// The public collector's tables in a folder: DIR/gemm_perf.txt, ...
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.h"
#include "store/database/store.h"

namespace assay::collect {

// Every table of the store. NCCL's and the custom all-reduce's are written a second time by the
// names that the public collector's guide gives them: comm_perf.txt, custom_all_reduce.txt. Gives
// the files written.
core::Result<std::vector<std::filesystem::path>> write_public_tables(
    const store::Store& store, const std::filesystem::path& folder);

}  // namespace assay::collect
