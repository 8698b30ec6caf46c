#include "cli/version.h"

#include <fmt/core.h>

namespace assay::cli {

std::string version_text() {
  // cmake/build_info.cmake fills these in.
  return fmt::format("assay {}{}\nbuilt with {}, {}\nlibraries: {}\n", ASSAY_VERSION, ASSAY_COMMIT,
                     ASSAY_COMPILER, ASSAY_BUILD, ASSAY_LIBRARIES);
}

std::string build_name() {
  return fmt::format("assay {}{}", ASSAY_VERSION, ASSAY_COMMIT);
}

std::string program_version() {
  return fmt::format("assay {}", ASSAY_VERSION);
}

}  // namespace assay::cli
