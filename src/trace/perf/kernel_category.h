// What a kernel computes, told by its name. The kernels of a replayed graph need this, since no
// recorded operator launched them.
//
// To add one, add a line to kKernels in kernel_category.cc; the first line that fits a name
// decides.
#pragma once

#include <string_view>

namespace assay::trace {

// Returns one of the categories of op_category (operator_family.h), "memcpy", "memset", or "other"
// when the name does not say it.
std::string_view kernel_category(std::string_view kernel_name);

}  // namespace assay::trace
