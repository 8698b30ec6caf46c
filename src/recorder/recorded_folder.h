// The files that a recorded command left.
#pragma once

#include <filesystem>

#include "core/result.h"
#include "recorder/record.h"

namespace assay::recorder {

// Fails when the folder is a file, or holds recordings of an earlier command.
core::Status check_unused(const std::filesystem::path& folder);

// Counts what the files hold, all but `exit_code`, and cuts off the room that killed processes
// had reserved.
core::Result<Recorded> count_recorded(const std::filesystem::path& folder);

}  // namespace assay::recorder
