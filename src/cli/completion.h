// Completion scripts for shells, made by walking the commands and their options.
#pragma once

#include <string>
#include <string_view>

namespace assay::cli {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

// For scripts that follow the words typed so far: 'trace/report' says that after the command
// "trace" the word "report" leads to another command. Quoted for a shell.
std::string step_patterns(std::string_view separator);

}  // namespace assay::cli
