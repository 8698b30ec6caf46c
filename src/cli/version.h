// What `assay --version` prints.
#pragma once

#include <string>

namespace assay::cli {

// Version, commit and kind of build, then the libraries with the versions built against.
std::string version_text();

// "assay 0.1.0", as files name their maker.
std::string program_version();

}  // namespace assay::cli
