// Reads a schedule in either form.
#pragma once

#include <filesystem>

#include "core/result.h"
#include "model/goal_text.h"
#include "model/schedule.h"

namespace assay::model {

// Maps a binary schedule, or converts a text in memory. The first bytes tell which it is.
core::Result<Schedule> read_schedule(const std::filesystem::path& path);

// The text as binary bytes in memory; `name` stands for the file in messages.
core::Result<Schedule> convert(GoalText& text, std::string_view name);

}  // namespace assay::model
