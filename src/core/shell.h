// Words of commands that a user copies into a shell, or that a script holds.
#pragma once

#include <string>

namespace assay::core {

// A word as the shell needs it: in single quotes, unless it is harmless.
std::string shell_quoted(const std::string& word);

}  // namespace assay::core
