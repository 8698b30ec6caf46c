// What the names of matrix multiplication kernels tell.
#pragma once

#include <optional>
#include <string_view>

#include "trace/arguments.h"

namespace assay::trace {

// Which operands the kernel takes transposed: Tensile ("Cijk_Alik_Bljk_…") and cuBLAS
// ("nvjet_…_TNT": the first two letters of the last word) say so in their names.
// A pair of flags, None for one that a Tensile name does not tell; nothing for other kernels.
std::optional<Argument> transposes(std::string_view kernel);

}  // namespace assay::trace
