// The parts of the page, which cmake/allreduce_page.cmake makes from the files beside this one.
#pragma once

#include <string_view>

namespace assay::allreduce {

extern const std::string_view kPageHtml;  // with @STYLE@, @DATA@ and @PROGRAM@ to be replaced
extern const std::string_view kPageStyle;
extern const std::string_view kPageProgram;

}  // namespace assay::allreduce
