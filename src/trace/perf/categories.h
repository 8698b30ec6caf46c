// What kind of work an operator launches, as the ops sheets group it.
#pragma once

#include <string_view>

#include "trace/options.h"

namespace assay::trace {

// "GEMM", "SDPA_fwd", "elementwise", …; "other" when nothing tells. `first_kernel` is the name of
// the first kernel that the operator launched, "" for none. The public tool does not know the
// operators that launch PyTorch's attention kernels and calls them "other".
std::string_view op_category(std::string_view operator_name,
                             std::string_view first_kernel,
                             Compat compat);

}  // namespace assay::trace
