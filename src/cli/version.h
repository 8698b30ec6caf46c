// What `assay --version` prints.
#pragma once

#include <string>

namespace assay::cli {

// Lines with the version and commit, the compiler and kind of build, and the libraries.
std::string version_text();

// "assay 0.2.0", the maker that written files name.
std::string program_version();

}  // namespace assay::cli
