// Rows that differ in kernel_source alone.
#pragma once

#include "store/answers/table_index.h"

namespace assay::store {

// Where a framework takes one kernel for some sizes and another for others, so that no place was
// measured with both, their rows are one group; its kernel_source is "A or B". Kernels that share a
// place (parts of an operator, graph and eager) stay apart.
void merge_kernels(GroupedRows& grouped);

}  // namespace assay::store
