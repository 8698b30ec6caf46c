// `store check`: what the plan of the newest collection expected, against what is there.
#pragma once

#include <string>
#include <vector>

#include "collect/tally.h"
#include "core/result.h"
#include "model/table.h"
#include "store/store.h"

namespace assay::cli {

struct Coverage {
  std::string started_at;  // of the collection
  collect::Tally tally;
};

// Of the operators of one table, or all (an empty name). Without operators: the store holds no
// collection, or one of an assay that did not record what it expected.
core::Result<Coverage> read_coverage(const store::Store& store, const std::string& table);

// Counts by operator, failures by class, skips by reason.
std::vector<model::Table> coverage_tables(const Coverage& coverage);

}  // namespace assay::cli
