// What looks wrong in a public table and may be right all the same: callers show it, and decide.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "store/answers/work_rows.h"
#include "store/judging/sibling_tables.h"

namespace assay::store {

// Families that take more than three times as long as every sibling that has at least 20 of their
// rows, in the median over these rows; there must be two such siblings. The fallback is the nearest
// of them. This may be how slow the engine is.
std::vector<Quarantined> slow_families(const WorkRows& rows,
                                       std::span<const SiblingTable> siblings);

// Sentences for users about rows whose column `version` is not that of their folder: they may have
// been measured with another program ("504 rows are of NCCL 2.29.2, but lie in the folder of
// 2.26.2").
std::vector<std::string> version_doubts(const WorkRows& rows, const std::string& folder_version);

}  // namespace assay::store
