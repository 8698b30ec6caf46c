#pragma once

#include <string_view>

namespace assay::recorder {

// The function's own name, whether the compiler's or a human's spelling is given:
// "_Z15ncclDevKernel_X4Args" and "ncclDevKernel_X(Args<4>)" are "ncclDevKernel_X".
std::string_view kernel_name(const char* name);

}  // namespace assay::recorder
