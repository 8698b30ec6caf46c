// Compares what the plans of a store's collections expected with what the store holds. An operator
// is judged by its newest collection and what refinements and --unless-in added to that.
#pragma once

#include <string>
#include <vector>

#include "collect/run/tally.h"
#include "core/result.h"
#include "model/table.h"
#include "store/database/store.h"
#include "store/judging/check_report.h"

namespace assay::collect {

struct Coverage {
  std::string started_at;  // the start of the collection
  // The cases of a refinement lie between other points, and those of a collection with --unless-in
  // beside them, so that a missing one is no gap in what the collection was to measure.
  bool is_addition = false;
  Tally tally;

  // The missing and failed cases by operator. Failed cases are remarks, because every large
  // collection has cases that the device cannot run; missing ones of an addition are, too.
  [[nodiscard]] std::vector<store::CasesFound> findings() const;

  // Counts by operator, failures by class and skips by reason.
  [[nodiscard]] std::vector<model::Table> tables() const;
};

// Returns the collections, the oldest first, with the operators that are judged by them, of one
// table, or of all tables if the name is empty. Leaves out collections by versions of assay that
// did not record the expected cases.
core::Result<std::vector<Coverage>> read_coverage(const store::Store& store,
                                                  const std::string& table);

}  // namespace assay::collect
