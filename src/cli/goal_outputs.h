// Commands of `goal` that write a schedule of something else than a recording share this: where it
// goes, its form, what its slices cost, and how it is written.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/options.h"
#include "goal/generate.h"
#include "goal/synth/made_job.h"

namespace assay::cli {

enum class MadeForm : std::uint8_t { kText, kBinary, kJob, kChakra };

// Declares --output.
Option* add_schedule_folder(App& app, goal::GenerateRequest& request);

// Declares --write with these forms, the default first.
Option* add_made_form(App& app, MadeForm& form, const std::vector<MadeForm>& forms);

goal::ScheduleFormat format_of(MadeForm form);

// Declares --costs.
Option* add_slice_costs(App& app, std::filesystem::path& file);

// The costs of --costs; those fitted on H200 if there is no file.
core::Result<goal::Costs> slice_costs(const std::filesystem::path& file);

// Writes the schedule of a job, shows its warnings and, unless quiet, names its files. The request
// tells all that is no property of a made job.
core::Status write_made_job(const goal::MadeJob& made, goal::GenerateRequest request, bool quiet);

void name_files(const std::vector<std::filesystem::path>& files, bool quiet);

}  // namespace assay::cli
