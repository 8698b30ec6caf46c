// Columns in the Arrow C stream interface: one record batch, whose buffers are the columns' own.
#pragma once

#include <assay/assay.h>

#include <memory>

#include "library/columns.h"

namespace assay::library {

// `stream` need not be initialised. What it hands out keeps the columns alive.
void hand_out(std::shared_ptr<const Columns> columns, ArrowArrayStream& stream);

}  // namespace assay::library
