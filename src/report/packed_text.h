// Text as bytes that a page unpacks by itself.
#pragma once

#include <string>
#include <string_view>

namespace assay::report {

// Returns the text as gzip in base64: letters, digits, "+", "/" and "=".
std::string packed_text(std::string_view text);

std::string base64(std::string_view bytes);

}  // namespace assay::report
