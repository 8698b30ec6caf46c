// Completion scripts for shells, made from the commands and their options.
#pragma once

#include <string>

namespace assay::cli {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace assay::cli
