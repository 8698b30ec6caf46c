// A command's arguments, parsed. The one place that meets CLI11's exceptions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"

namespace assay::cli {

// The command ready to run, or one line that says what is wrong with the arguments.
core::Result<std::unique_ptr<Command>> parse_command(const CommandSpec& spec,
                                                     const std::vector<std::string>& arguments);

}  // namespace assay::cli
