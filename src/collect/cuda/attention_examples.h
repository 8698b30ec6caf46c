// Attentions of all kinds, small enough to check each of them in a moment.
#pragma once

#include <vector>

#include "collect/kernels/kernels.h"

namespace assay::collect {

std::vector<AttentionSpec> attention_examples();

}  // namespace assay::collect
