// What `codegen` tells about the tables it made.
#pragma once

#include <string>

#include "allreduce/tuning.h"
#include "model/table.h"

namespace assay::allreduce {

// "tables" (counts), "rows" (each row of the lookup table as digits, and of the strategy table as
// segments), and "against_order" where the data contradict the order of strategies.
model::Book tuning_summary(const TunedTables& tables);

// "ONESHOT, from 1.2 MiB NCCL".
std::string segments_text(const TableRow& row);

// "384 B", "64 KiB", "1.2 MiB": at most three digits, powers of 1024.
std::string bytes_text(std::int64_t bytes);

}  // namespace assay::allreduce
