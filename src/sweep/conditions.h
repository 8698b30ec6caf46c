// What a sweep does not vary and its runs depend on all the same: the files that the command names,
// and the variables that NCCL, RCCL and GPU runtimes read. A sweep that is resumed compares them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sweep/setting.h"

namespace assay::sweep {

using Conditions = std::map<std::string, std::string>;  // "file train.yaml", its hash

// Returns the conditions of now. A swept variable is none of them. `files` are arguments of the
// command and its configuration; those that are no files have no condition. Large ones, such as
// data, are not read: their size and time stand for their bytes.
Conditions present_conditions(const std::vector<std::string>& files, const Settings& settings);

// Returns the conditions, with the stored one of each file that last changed before the last run of
// the sweep in `folder` ended: the command may have written it, such as a log. `told` are warnings
// of its runs: a change that is among them was there before those runs.
Conditions without_files_of_runs(Conditions present,
                                 const Conditions& stored,
                                 const std::filesystem::path& folder,
                                 const std::vector<std::string>& told);

// Says what differs: "file train.yaml has changed since the sweep began". Nothing differs where the
// sweep recorded none.
std::vector<std::string> differences(const Conditions& stored, const Conditions& present);

}  // namespace assay::sweep
