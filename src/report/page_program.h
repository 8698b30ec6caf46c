// The program and the styles of the pages, which page/build.mjs bundles when assay is built.
#pragma once

#include <string_view>

namespace assay::report {

// JavaScript, gzip in base64. Empty in a build without pages (ASSAY_PAGE=OFF).
extern const std::string_view kPageProgram;
extern const std::string_view kPageStyles;

}  // namespace assay::report
