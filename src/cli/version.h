// The text that `assay --version` prints.
#pragma once

#include <string>

namespace assay::cli {

// Returns lines with the version and commit, the compiler and kind of build, and the libraries.
std::string version_text();

// Returns the program's name for the files that it writes: "assay 0.2.0".
std::string program_version();

// The same with the commit, which tells builds of one version apart.
std::string build_name();

}  // namespace assay::cli
